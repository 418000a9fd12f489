import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HubInfo } from '../api/parse-body.js';
import { formatAge } from '../format/duration.js';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { INTERVALS } from '../routing/route.js';
import { IconButton } from '../shared/icon-button.js';
import { Select } from '../shared/select.js';
import { ConnectionPill } from './connection-pill.js';
import { Logo } from './logo.js';
import { THEMES, type Theme } from './preferences.js';
import { ViewLinks } from './view-links.js';

export interface HeaderProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly theme: Signal<Theme>;
  readonly onSnapshot: () => void;
  readonly onHelp: () => void;
}

/** Header with the hub, the views, the connection and the settings of the page. */
export function Header({ monitor, navigation, theme, onSnapshot, onHelp }: HeaderProps): JSX.Element {
  const hub = monitor.store.hub.value;
  const connection = monitor.connection.value;
  return (
    <header class="header">
      <Logo />
      <div class="header-hub">
        <h1 class="header-name" title={hub?.service}>
          <bdi>{hub?.service ?? 'Hubline'}</bdi>
        </h1>
        {hub && <p class="header-facts">{facts(hub, monitor.serverNow.value)}</p>}
      </div>
      <ViewLinks store={monitor.store} navigation={navigation} />
      <ConnectionPill connection={connection} />
      <div class="header-controls">
        {connection.kind !== 'snapshot' && (
          <>
            <Select
              label="Poll"
              options={INTERVALS}
              nameOf={(every) => (every === 'off' ? 'Off' : `${every} s`)}
              value={navigation.route.value.every}
              onChange={(every) => navigation.go({ every }, { replace: true })}
            />
            <IconButton icon="refresh" label="Refresh now" onClick={monitor.refresh} />
          </>
        )}
        <Select
          label="Theme"
          options={THEMES}
          nameOf={(name) => name.charAt(0).toUpperCase() + name.slice(1)}
          value={theme.value}
          onChange={(next) => {
            theme.value = next;
          }}
        />
        <IconButton icon="snapshot" label="Snapshot" onClick={onSnapshot} />
        <IconButton icon="help" label="Keyboard shortcuts" onClick={onHelp} />
      </div>
    </header>
  );
}

function facts({ transport, version, startedAt }: HubInfo, serverNow: number): string {
  const uptime = startedAt === null ? 'not started' : `up ${formatAge(serverNow - startedAt)}`;
  return `${transport} · v${version} · ${uptime}`;
}
