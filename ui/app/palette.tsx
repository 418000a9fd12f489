import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useActions } from '../actions/actions.js';
import { Icon, IconButton, type IconName } from '../shared/icon.js';
import { groupBy } from '../shared/lists.js';
import type { HubStore } from '../state/hub-store.js';
import { type Navigation, VIEW_LABEL, type View, viewPath } from '../state/navigation.js';
import { describeProblem } from '../state/problems.js';
import type { PageAction } from './page-actions.js';
import { VIEW_KEYS } from './shortcuts.js';

/** Command of the palette: a view, an item of a view, or an action of the page. */
interface PaletteItem extends PageAction {
  /** Identity in the list. */
  readonly key: string;
  /** Kind of the item, the heading of its group. */
  readonly kind: string;
  /** Fact beside the label. */
  readonly note?: string;
  /** Tone of the icon. @default muted */
  readonly tone?: 'failed' | 'stale';
}

export interface PaletteProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
  /** Actions of the page. */
  readonly actions: readonly PageAction[];
  readonly onClose: () => void;
}

/** Numbers of items that are shown, and of problems that come first. */
const SHOWN = 50;
const PROBLEMS = 8;

/** Dialog that goes to a view, an event type, a workflow, an agent, a schedule or an id, or runs an action of the page. */
export function Palette({ store, navigation, actions, onClose }: PaletteProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  // A poll changes nothing while the palette is open.
  const [all] = useState(() => {
    const items = collectItems(store, navigation, actions);
    const urgent = new Map<string, PaletteItem>();
    for (const problem of store.health.value?.problems.slice(0, PROBLEMS) ?? []) {
      const { path, icon, tone, shortFact } = describeProblem(problem, store.reading.value.hubNow);
      const item = items.find(({ key }) => key === path);
      // The first problem of a subject is its worst.
      if (item !== undefined && !urgent.has(item.key))
        urgent.set(item.key, { ...item, icon, tone, kind: 'Needs attention', note: shortFact });
    }
    return [...urgent.values(), ...items.filter(({ key, kind }) => kind === 'Views' || !urgent.has(key))];
  });
  const maySearch = useActions()?.may('search') === true;
  const tagView = maySearch ? 'search' : store.introspection.value?.showsTags === true ? 'tagged' : null;
  const groups = useMemo(
    () => groupBy(matchItems(all, text, navigation, tagView), ({ kind }) => kind),
    [all, text, tagView],
  );
  const found = [...groups.values()].flat();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useLayoutEffect(
    () => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }),
    [at],
  );
  const run = (item: PaletteItem | undefined): void => {
    if (item === undefined) return;
    dialog.current?.close();
    item.run();
  };
  const move = (step: number): void => setAt((at + step + found.length) % Math.max(1, found.length));
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Go to"
      onClose={onClose}
      // A click outside closes it; the types do not know the attribute yet.
      {...{ closedby: 'any' }}
    >
      <div class="palette-search">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Go to a view, a name or an id"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found.length > 0 ? `palette-${at}` : undefined}
          aria-autocomplete="list"
          placeholder="Name, id or action"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
            if (step !== 0) move(step);
            else if (event.key === 'Enter') run(found[at]);
            else return;
            event.preventDefault();
          }}
        />
        <IconButton icon="close" label="Close" onClick={() => dialog.current?.close()} />
      </div>
      <div ref={list} id="palette-list" class="palette-list" role="listbox" aria-label="Results">
        {[...groups].map(([kind, items]) => (
          // biome-ignore lint/a11y/useSemanticElements: a list box has groups of options.
          <div key={kind} role="group" aria-label={kind}>
            <p class="view-table-note" aria-hidden>
              {kind}
            </p>
            {items.map((item) => {
              const index = found.indexOf(item);
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and handles the keys.
                <div
                  key={item.key}
                  id={`palette-${index}`}
                  role="option"
                  class={item.tone && `is-${item.tone}`}
                  tabIndex={-1}
                  aria-selected={index === at}
                  onPointerMove={() => setAt(index)}
                  onClick={() => run(item)}
                >
                  <Icon name={item.icon} />
                  <bdi>{item.label}</bdi>
                  <span class="muted">{item.note ?? (item.keys && <kbd>{item.keys}</kbd>)}</span>
                </div>
              );
            })}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="view-table-note">Nothing matches.</p>}
      <p class="view-table-note" aria-hidden>
        <kbd>↵</kbd> open
      </p>
    </dialog>
  );
}

/** Returns the views, the actions, and the items that have a place in a view. */
function collectItems(
  { rows, workflows, agents, schedules }: HubStore,
  navigation: Navigation,
  actions: readonly PageAction[],
): PaletteItem[] {
  const place = (view: View, name: string, kind: string, icon: IconName): PaletteItem => ({
    key: viewPath(view, name),
    label: name,
    kind,
    icon,
    run: () => navigation.go({ view, name }),
  });
  return [
    ...Object.entries(VIEW_KEYS).map(
      ([key, view]): PaletteItem => ({
        key: viewPath(view),
        label: VIEW_LABEL[view],
        kind: 'Views',
        keys: `g ${key}`,
        icon: 'closed',
        run: () => navigation.go({ view, name: null }),
      }),
    ),
    ...actions.map((action) => ({ ...action, key: action.label, kind: 'Actions' })),
    ...[...rows.value.keys()].map((type) => place('events', type, 'Event types', 'dot')),
    ...workflows.value.map(({ name }) => place('workflows', name, 'Workflows', 'ring')),
    ...agents.value.map(({ name }) => place('agents', name, 'Agents', 'running')),
    // Those that were set at run time share their name.
    ...[...new Set(schedules.value.map(({ name }) => name))].map((name) =>
      place('schedules', name, 'Schedules', 'clock'),
    ),
  ];
}

/**
 * Returns the items that have all words of a text, those that begin with it first, and a look-up if the text may be an id
 * or a tag.
 *
 * @param tagView view in which the user may search by tags
 */
function matchItems(
  all: readonly PaletteItem[],
  text: string,
  navigation: Pick<Navigation, 'go' | 'searchText'>,
  tagView: 'search' | 'tagged' | null,
): readonly PaletteItem[] {
  const query = text.trim().toLowerCase();
  const words = query.split(/\s+/);
  const rankOf = ({ label, kind }: PaletteItem): number => {
    const name = label.toLowerCase();
    if (name.startsWith(query)) return 0;
    if (words.every((word) => name.includes(word))) return 1;
    return words.every((word) => `${name} ${kind.toLowerCase()}`.includes(word)) ? 2 : 3;
  };
  const ranked = all.map((item) => ({ item, rank: rankOf(item) })).filter(({ rank }) => rank < 3);
  const found = ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
  const typed = text.trim();
  const lookUp = (view: 'requests' | 'search' | 'tagged', note: string): PaletteItem => ({
    key: `look up ${view}`,
    label: typed,
    kind: 'Look up',
    note,
    icon: 'search',
    run: () => {
      if (view === 'search') navigation.searchText.value = typed;
      navigation.go({ view, name: view === 'search' ? null : typed });
    },
  });
  const lookUps = [
    ...(/^\S{6,}$/.test(typed) ? [lookUp('requests', 'id of an event, a run or a request')] : []),
    ...(tagView !== null && typed !== '' ? [lookUp(tagView, 'tag of events and runs')] : []),
  ];
  return [...found.slice(0, SHOWN - lookUps.length), ...lookUps];
}
