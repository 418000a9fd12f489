import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Agents } from '../agents/agents.js';
import { NeedsAttention } from '../attention/needs-attention.js';
import { Events } from '../events/events.js';
import { EventPanel } from '../events/panel/event-panel.js';
import type { RowFocus } from '../events/table/use-row-focus.js';
import { Overview } from '../overview/overview.js';
import type { Monitor } from '../polling/monitor.js';
import { Processes } from '../processes/processes.js';
import { RequestView } from '../requests/request-view.js';
import type { Navigation } from '../routing/navigation.js';
import { Schedules } from '../schedules/schedules.js';
import { SnapshotDialog } from '../snapshots/snapshot-dialog.js';
import { useSnapshots } from '../snapshots/use-snapshots.js';
import { Waits } from '../waits/waits.js';
import { Workflows } from '../workflows/workflows.js';
import { Banner } from './banner.js';
import { BRAND_COLOR, FAILING_COLOR, favicon } from './favicon.js';
import { Header } from './header/header.js';
import { mediaQuery } from './media-query.js';
import type { Preferences } from './preferences.js';
import { listenForShortcuts } from './shortcuts.js';
import { ShortcutsDialog } from './shortcuts-dialog.js';

export interface AppProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly preferences: Preferences;
}

/** True if the panel covers the page. */
const narrow = mediaQuery(window, '(max-width: 999.98px)');

/** The whole page. */
export function App({ monitor: live, navigation, preferences }: AppProps): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  const rowFocus = useRef<RowFocus>(null);
  const help = useRef<HTMLDialogElement>(null);
  const snapshotDialog = useRef<HTMLDialogElement>(null);
  const snapshots = useSnapshots(live, (succeeded) => {
    if (succeeded) snapshotDialog.current?.close();
    else if (snapshotDialog.current?.open === false) snapshotDialog.current.showModal();
  });
  const monitor = snapshots.shown;
  const showHelp = (): void => help.current?.showModal();
  // Before the first paint, which shows the rows: a key that is pressed then must not be lost.
  useLayoutEffect(
    () =>
      listenForShortcuts(document, {
        navigation,
        preferences,
        showHelp,
        refresh: () => monitor.refresh(),
        focusSearch: () => search.current?.focus(),
        moveFocus: (step) => rowFocus.current?.move(step),
      }),
    [navigation, preferences, monitor],
  );
  const openType = navigation.openType.value;
  const { view } = navigation.route.value;
  const covered = openType !== null && narrow.value;
  return (
    <>
      <a class="skip-link" href={`#${view}-title`}>
        Skip to {view}
      </a>
      <Header
        monitor={monitor}
        navigation={navigation}
        theme={preferences.theme}
        onSnapshot={() => snapshotDialog.current?.showModal()}
        onHelp={showHelp}
      />
      <div class="page" data-panel={openType !== null} data-old={isOld(monitor)} inert={covered}>
        <main class="main">
          {view === 'events' && (
            <>
              <NeedsAttention monitor={monitor} navigation={navigation} />
              <Overview monitor={monitor} navigation={navigation} />
              <Events monitor={monitor} navigation={navigation} searchRef={search} focusRef={rowFocus} />
            </>
          )}
          {view === 'agents' && <Agents monitor={monitor} navigation={navigation} />}
          {view === 'processes' && <Processes monitor={monitor} navigation={navigation} />}
          {view === 'requests' && <RequestView monitor={monitor} navigation={navigation} />}
          {view === 'schedules' && <Schedules monitor={monitor} navigation={navigation} />}
          {view === 'waits' && <Waits monitor={monitor} navigation={navigation} />}
          {view === 'workflows' && <Workflows monitor={monitor} navigation={navigation} />}
        </main>
      </div>
      {openType !== null && <EventPanel type={openType} monitor={monitor} navigation={navigation} />}
      <Banner monitor={monitor} onLive={snapshots.close} />
      <PageTitle monitor={monitor} />
      <SnapshotDialog dialogRef={snapshotDialog} snapshots={snapshots} />
      <ShortcutsDialog dialogRef={help} enabled={preferences.shortcuts} />
      <div class="visually-hidden" role="status">
        {monitor.announcement}
      </div>
    </>
  );
}

/** Returns true if the data on the page is not up to date, so that it is dimmed. */
function isOld({ connection }: Monitor): boolean {
  return connection.value.kind === 'lost' || connection.value.kind === 'stale';
}

/** Title and icon of the tab. Both tell if something is failing. */
function PageTitle({ monitor: { store } }: { monitor: Monitor }): null {
  const failing = store.byFilter.value.failing;
  const isFailing = failing > 0 || store.health.value?.status === 'failing';
  const title = `${failing === 0 ? '' : `(${failing} failing) `}${store.hub.value?.service ?? 'Dashboard'} · Hubline`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    document.querySelector('link[rel="icon"]')?.setAttribute('href', favicon(isFailing ? FAILING_COLOR : BRAND_COLOR));
  }, [isFailing]);
  return null;
}
