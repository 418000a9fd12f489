import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HubInfo } from '../api/protocol.js';
import { formatAge } from '../format/duration.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { THEMES, type Theme } from '../state/preferences.js';
import { INTERVALS, type Interval } from '../state/route.js';
import { ConnectionPill } from './connection-pill.js';
import { Icon } from './icon.js';
import { Logo } from './logo.js';
import { Select } from './select.js';
import { ViewLinks } from './view-links.js';

const INTERVAL_LABEL: Record<Interval, string> = {
  '1': '1 s',
  '2': '2 s',
  '5': '5 s',
  '15': '15 s',
  '60': '60 s',
  off: 'Off',
};

const THEME_LABEL: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' };

export interface HeaderProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly theme: Signal<Theme>;
  readonly onHelp: () => void;
}

/** Whose hub this is, how fresh its numbers are, and what a person sets for the whole page. */
export function Header({ monitor, navigation, theme, onHelp }: HeaderProps): JSX.Element {
  const hub = monitor.store.hub.value;
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
      <ConnectionPill connection={monitor.connection.value} />
      <div class="header-controls">
        <Select
          label="Poll"
          options={INTERVALS}
          labels={INTERVAL_LABEL}
          value={navigation.route.value.every}
          onChange={(every) => navigation.go({ every }, { replace: true })}
        />
        <button type="button" class="icon-button" title="Refresh now" onClick={monitor.refresh}>
          <Icon name="refresh" />
          <span class="visually-hidden">Refresh now</span>
        </button>
        <Select
          label="Theme"
          options={THEMES}
          labels={THEME_LABEL}
          value={theme.value}
          onChange={(next) => {
            theme.value = next;
          }}
        />
        <button type="button" class="icon-button" title="Keyboard shortcuts" onClick={onHelp}>
          <span aria-hidden="true">?</span>
          <span class="visually-hidden">Keyboard shortcuts</span>
        </button>
      </div>
    </header>
  );
}

function facts({ transport, version, startedAt }: HubInfo, serverNow: number): string {
  const uptime = startedAt === null ? 'not started' : `up ${formatAge(serverNow - startedAt)}`;
  return `${transport} · v${version} · ${uptime}`;
}
