import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Select } from '../../controls/select.js';
import type { Monitor } from '../../polling/monitor.js';
import type { Navigation } from '../../routing/navigation.js';
import { ROUTED_VIEWS, VIEW_LABEL, VIEWS } from '../../routing/route.js';
import type { Theme } from '../preferences.js';
import { ConnectionMenu } from './connection-menu.js';
import { Logo } from './logo.js';
import { PageMenu } from './page-menu.js';
import { ViewLinks } from './view-links.js';

export interface HeaderProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly theme: Signal<Theme>;
  readonly onSnapshot: () => void;
  readonly onHelp: () => void;
}

/** Header with the hub, the views, the connection and a menu, in one row at every width. */
export function Header({ monitor, navigation, theme, onSnapshot, onHelp }: HeaderProps): JSX.Element {
  const hub = monitor.store.hub.value;
  const { view } = navigation.route.value;
  return (
    <header class="header">
      <Logo />
      <h1 class="header-name" title={hub?.service}>
        <bdi>{hub?.service ?? 'Hubline'}</bdi>
      </h1>
      <ViewLinks store={monitor.store} navigation={navigation} />
      <div class="view-select">
        <Select
          label="View"
          options={view === 'requests' ? ROUTED_VIEWS : VIEWS}
          nameOf={(option) => VIEW_LABEL[option]}
          value={view}
          onChange={(next) => navigation.go({ view: next, name: null })}
        />
      </div>
      <ConnectionMenu monitor={monitor} navigation={navigation} />
      <PageMenu hub={hub} serverNow={monitor.serverNow.value} theme={theme} onSnapshot={onSnapshot} onHelp={onHelp} />
    </header>
  );
}
