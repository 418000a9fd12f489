import { type ReadonlySignal, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ActionsOfUser } from '../actions/actions.js';
import { AuditView } from '../actions/audit-view.js';
import { Agents } from '../agents/agents.js';
import type { RowFocus } from '../events/event-focus.js';
import { Events } from '../events/events.js';
import { NeedsAttention } from '../events/needs-attention.js';
import { Overview } from '../events/overview.js';
import { EventPanel } from '../events/panel/event-panel.js';
import { Flow } from '../flow/flow.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, VIEW_LABEL, type View } from '../state/navigation.js';
import { Errors } from '../views/errors.js';
import { Processes } from '../views/processes.js';
import { RequestView } from '../views/requests.js';
import { Schedules } from '../views/schedules.js';
import { Search, Tagged } from '../views/tagged.js';
import { Waits } from '../views/waits.js';
import { Workflows } from '../workflows/workflows.js';
import { Banner } from './banner.js';
import { Header } from './header.js';
import { pageActions } from './page-actions.js';
import { Palette } from './palette.js';
import type { Preferences } from './preferences.js';
import { listenForShortcuts, ShortcutsDialog } from './shortcuts.js';
import { SnapshotDialog, useSnapshots } from './snapshots.js';

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
  const [isGoing, setGoing] = useState(false);
  const actions = pageActions({
    monitor,
    navigation,
    preferences,
    showSnapshots: () => snapshotDialog.current?.showModal(),
    showHelp: () => help.current?.showModal(),
  });
  // Before the first paint, which shows the rows: a key that is pressed then must not be lost.
  useLayoutEffect(
    () =>
      listenForShortcuts(document, {
        navigation,
        preferences,
        actions: Object.values(actions),
        showPalette: () => setGoing(true),
        focusSearch: () => {
          if (search.current !== null) {
            search.current.focus();
            return;
          }
          // The other views have no search box. It is there when the next task begins.
          navigation.go({ view: 'events', name: null });
          setTimeout(() => search.current?.focus());
        },
        moveFocus: (step) => rowFocus.current?.move(step),
      }),
    [navigation, preferences, monitor],
  );
  const openType = navigation.openType.value;
  const { view } = navigation.route.value;
  const covered = openType !== null && narrow.value;
  return (
    <>
      <ActionsOfUser monitor={monitor} />
      <a class="skip-link" href={`#${view}-title`}>
        Skip to {view}
      </a>
      <Header
        monitor={monitor}
        navigation={navigation}
        theme={preferences.theme}
        actions={actions}
        onSearch={() => setGoing(true)}
      />
      <div class="page" data-panel={openType !== null} data-old={isOld(monitor)} inert={covered}>
        <main class="main">
          {view === 'events' ? (
            <>
              <NeedsAttention monitor={monitor} navigation={navigation} />
              <Overview monitor={monitor} navigation={navigation} />
              <Events monitor={monitor} navigation={navigation} searchRef={search} focusRef={rowFocus} />
            </>
          ) : (
            <OtherView view={view} monitor={monitor} navigation={navigation} />
          )}
        </main>
      </div>
      {openType !== null && <EventPanel type={openType} monitor={monitor} navigation={navigation} />}
      <Banner monitor={monitor} onLive={snapshots.close} />
      <PageTitle monitor={monitor} navigation={navigation} />
      <SnapshotDialog dialogRef={snapshotDialog} snapshots={snapshots} />
      {isGoing && (
        <Palette
          store={monitor.store}
          navigation={navigation}
          actions={Object.values(actions)}
          onClose={() => setGoing(false)}
        />
      )}
      <ShortcutsDialog
        dialogRef={help}
        enabled={preferences.shortcuts}
        actions={Object.values(actions).filter(({ keys }) => keys)}
      />
      <div class="visually-hidden" role="status">
        {monitor.announcement}
      </div>
    </>
  );
}

interface ViewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Component of each view other than the events. */
const OTHER_VIEWS: Record<Exclude<View, 'events'>, (props: ViewProps) => JSX.Element> = {
  agents: Agents,
  audit: AuditView,
  errors: Errors,
  flow: Flow,
  processes: Processes,
  requests: RequestView,
  schedules: Schedules,
  // A new text begins a new search.
  search: (props) => <Search key={props.navigation.searchText.value} {...props} />,
  tagged: Tagged,
  waits: Waits,
  workflows: Workflows,
};

function OtherView({ view, ...props }: ViewProps & { readonly view: keyof typeof OTHER_VIEWS }): JSX.Element {
  const Shown = OTHER_VIEWS[view];
  return <Shown {...props} />;
}

/** Returns true if the data on the page is not up to date, so that it is dimmed. */
function isOld({ connection }: Monitor): boolean {
  return connection.value.kind === 'lost' || connection.value.kind === 'stale';
}

/** Title and icon of the tab. Both tell if something is failing. */
function PageTitle({ monitor: { store }, navigation }: Pick<AppProps, 'monitor' | 'navigation'>): null {
  const { view, name } = navigation.route.value;
  const failing = store.byFilter.value.failing;
  const isFailing = failing > 0 || store.health.value?.status === 'failing';
  const place = [...(name === null ? [] : [name]), VIEW_LABEL[view], store.hub.value?.service ?? 'Dashboard'];
  const title = `${failing === 0 ? '' : `(${failing} failing) `}${place.join(' · ')} · Hubline`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    document.querySelector('link[rel="icon"]')?.setAttribute('href', favicon(isFailing ? FAILING_COLOR : BRAND_COLOR));
  }, [isFailing]);
  return null;
}

/** Returns a signal that is true while a media query matches. It is never disposed. */
function mediaQuery(window: Window, query: string): ReadonlySignal<boolean> {
  const list = window.matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

const BRAND_COLOR = '#0b5cad';
const FAILING_COLOR = '#b3360b';

/** Returns the icon of the tab in a colour, as a data URL. */
function favicon(color: string): string {
  const path = "<path d='M4.5 3.5v9M11.5 3.5v9M4.5 8h7' stroke='#fff' stroke-width='2'/>";
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='${color}'/>${path}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
