import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { AuditLink } from '../actions/audit-view.js';
import type { HubInfo } from '../api/decode-introspection.js';
import { formatAge } from '../format/duration.js';
import { counted, formatCount } from '../format/number.js';
import { Choices, Select } from '../shared/choices.js';
import { Icon, type IconName } from '../shared/icon.js';
import { sumOf } from '../shared/lists.js';
import { Menu } from '../shared/overlays.js';
import type { ConnectionState } from '../state/connection-state.js';
import type { HubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import {
  INTERVALS,
  type Interval,
  type Navigation,
  ROUTED_VIEWS,
  VIEW_LABEL,
  VIEWS,
  viewPath,
} from '../state/navigation.js';
import type { PageAction, PageActions } from './page-actions.js';
import { THEMES, type Theme } from './preferences.js';

export interface HeaderProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly theme: Signal<Theme>;
  readonly actions: PageActions;
  /** Opens the command palette. */
  readonly onSearch: () => void;
}

/** Header with the hub, the views, the connection and a menu, in one row at every width. */
export function Header({ monitor, navigation, theme, actions, onSearch }: HeaderProps): JSX.Element {
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
          options={ROUTED_VIEWS.filter((each) => each === view || VIEWS.some((item) => item === each))}
          nameOf={(option) => VIEW_LABEL[option]}
          value={view}
          onChange={(next) => navigation.go({ view: next, name: null })}
        />
      </div>
      <button type="button" class="go-to" aria-label="Go to" aria-keyshortcuts="Control+K Meta+K" onClick={onSearch}>
        <Icon name="search" />
        <kbd>Ctrl K</kbd>
      </button>
      <ConnectionMenu monitor={monitor} navigation={navigation} actions={actions} />
      <PageMenu
        hub={hub}
        serverNow={monitor.serverNow.value}
        theme={theme}
        actions={[{ label: 'Go to …', icon: 'search', keys: 'Ctrl K', run: onSearch }, actions.snapshot, actions.help]}
      />
    </header>
  );
}

export interface ViewLinksProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
}

/** Navigation between the views, with the number of items in each. */
function ViewLinks({ store, navigation }: ViewLinksProps): JSX.Element {
  const { view } = navigation.route.value;
  const counts: Record<(typeof VIEWS)[number], number | undefined> = {
    events: store.rows.value.size,
    errors: undefined,
    flow: undefined,
    workflows: store.workflows.value.length,
    agents: store.agents.value.length,
    waits: approvalsOf(store) || undefined,
    schedules: store.schedules.value.length,
    processes: undefined,
  };
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((item) => (
        <a key={item} href={viewPath(item) + navigation.query.value} aria-current={item === view ? 'page' : undefined}>
          {VIEW_LABEL[item]}{' '}
          {store.hub.value && counts[item] !== undefined && (
            <span class="chip-count">
              {item === 'waits' ? counted(counts[item], 'approval') : formatCount(counts[item])}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

/** Returns the number of approvals that runs wait for. */
function approvalsOf({ health }: HubStore): number {
  const waiting = health.value?.problems.filter(({ kind }) => kind === 'approval-waiting') ?? [];
  return sumOf(waiting, ({ count = 0 }) => count);
}

const LOOK: Record<ConnectionState['kind'], readonly [icon: IconName, label: string]> = {
  connecting: ['dashes', 'Connecting'],
  live: ['dot', 'Live'],
  slow: ['clock', 'Slow'],
  paused: ['pause', 'Paused'],
  snapshot: ['copy', 'Snapshot'],
  stale: ['clock', 'Stale'],
  lost: ['triangle', 'Lost'],
};

type ConnectionMenuProps = Pick<HeaderProps, 'monitor' | 'navigation' | 'actions'>;

/** State of the connection in one word, with the poll interval, a refresh and a pause. */
function ConnectionMenu({ monitor, navigation, actions }: ConnectionMenuProps): JSX.Element {
  const connection = monitor.connection.value;
  const { every } = navigation.route.value;
  const [icon, label] = LOOK[connection.kind];
  const fact = factOf(connection, every, monitor);
  const state = (
    <>
      <Icon name={icon} />
      <span>{label}</span>
      {fact !== '' && <span class="connection-fact"> {fact}</span>}
    </>
  );
  if (connection.kind === 'snapshot') return <span class="connection">{state}</span>;
  return (
    <Menu
      class={`connection is-${connection.kind}`}
      button={
        <>
          {state}
          <Icon name="open" />
        </>
      }
    >
      {(close) => (
        <>
          <Choices
            label="Refresh every"
            options={INTERVALS}
            nameOf={(option) => (option === 'off' ? 'Off' : `${option} s`)}
            value={every}
            onChange={(next) => navigation.go({ every: next }, { replace: true })}
          />
          <MenuItems actions={[actions.refresh, actions.pause]} close={close} />
        </>
      )}
    </Menu>
  );
}

interface MenuItemsProps {
  readonly actions: readonly PageAction[];
  /** Closes the menu. */
  readonly close: () => void;
}

function MenuItems({ actions, close }: MenuItemsProps): JSX.Element {
  return (
    <>
      {actions.map(({ label, icon, keys, run }) => (
        <button
          key={icon}
          type="button"
          class="menu-item"
          onClick={() => {
            close();
            run();
          }}
        >
          <Icon name={icon} /> {label} {keys && <kbd>{keys}</kbd>}
        </button>
      ))}
    </>
  );
}

/** Returns the interval, or the age of the data if it is not live. */
function factOf(connection: ConnectionState, every: Interval, { now, lastGoodAt }: Monitor): string {
  switch (connection.kind) {
    case 'live':
      return `${every} s`;
    case 'slow':
      return `${(connection.tookMs / 1_000).toFixed(1)} s`;
    case 'stale':
      return formatAge(connection.ageMs);
    case 'paused':
    case 'lost':
      return lastGoodAt.value === null ? '' : formatAge(now.value - lastGoodAt.value);
    default:
      return '';
  }
}

export interface PageMenuProps {
  readonly hub: HubInfo | null;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly theme: Signal<Theme>;
  readonly actions: readonly PageAction[];
}

/** Menu with the theme, snapshots, shortcuts and facts of the hub. */
function PageMenu({ hub, serverNow, theme, actions }: PageMenuProps): JSX.Element {
  return (
    <Menu label="Menu" class="icon-button" button={<Icon name="more" />}>
      {(close) => (
        <>
          <Choices
            label="Theme"
            options={THEMES}
            nameOf={(name) => name.charAt(0).toUpperCase() + name.slice(1)}
            value={theme.value}
            onChange={(next) => {
              theme.value = next;
            }}
          />
          <MenuItems actions={actions} close={close} />
          <AuditLink onFollow={close} />
          {hub && <p class="menu-facts">{facts(hub, serverNow)}</p>}
        </>
      )}
    </Menu>
  );
}

function facts({ transport, version, startedAt }: HubInfo, serverNow: number): string {
  const uptime = startedAt === null ? 'not started' : `up ${formatAge(serverNow - startedAt)}`;
  return `${transport} · Hubline ${version} · ${uptime}`;
}

/** Logo of the product, the same as the favicon. */
function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 16 16" aria-hidden>
      <rect width="16" height="16" rx="4" />
      <path d="M4.5 3.5v9M11.5 3.5v9M4.5 8h7" />
    </svg>
  );
}
