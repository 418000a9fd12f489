import type { Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { Dialog } from '../shared/overlays.js';
import { type Navigation, VIEW_LABEL, type View } from '../state/navigation.js';
import type { PageAction } from './page-actions.js';
import type { Preferences } from './preferences.js';

/** Keys and what they do, beside those of the actions of the page. */
const SHORTCUTS: readonly (readonly [key: string, action: string])[] = [
  ['Ctrl K', 'Go to a name, an id or an action (⌘ K)'],
  ['/', 'Search event types'],
  ['j', 'Next event type'],
  ['k', 'Previous event type'],
  ['Enter', 'Open event type'],
  ['← →', 'Move in the chart'],
  ['Shift ← →', 'Select in the chart, Enter to zoom in'],
  ['Esc', 'Zoom out of the chart, close panel'],
];

/** Letters that open a view after "g". */
export const VIEW_KEYS: Readonly<Record<string, Exclude<View, 'requests'>>> = {
  e: 'events',
  x: 'errors',
  f: 'flow',
  w: 'workflows',
  a: 'agents',
  t: 'waits',
  s: 'schedules',
  p: 'processes',
};

/** Time in which the letter must follow the "g". */
const SEQUENCE_MS = 1_500;

/** Targets of the shortcuts. */
export interface ShortcutTargets {
  readonly navigation: Navigation;
  readonly preferences: Preferences;
  readonly actions: readonly PageAction[];
  focusSearch(): void;
  /** Moves the focus to the next (1) or previous (-1) row. */
  moveFocus(step: 1 | -1): void;
  showPalette(): void;
}

/** Listens for shortcuts. Returns a function that stops it. */
export function listenForShortcuts(document: Document, targets: ShortcutTargets): () => void {
  const { navigation, preferences } = targets;
  const actions = new Map<string | undefined, () => void>([
    ['/', targets.focusSearch],
    ['j', () => targets.moveFocus(1)],
    ['k', () => targets.moveFocus(-1)],
    ...targets.actions.map(({ keys, run }) => [keys, run] as const),
  ]);
  let sequenceUntil = 0;
  const onKeyDown = (event: KeyboardEvent): void => {
    // Shortcuts are off while a dialog is open.
    if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      targets.showPalette();
      return;
    }
    if (event.key === 'Escape') {
      // Escape first clears the search box, which the browser does.
      if (event.target instanceof HTMLInputElement && event.target.value !== '') return;
      navigation.go({ name: null });
      return;
    }
    if (!preferences.shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return;
    const view = event.timeStamp < sequenceUntil ? VIEW_KEYS[event.key] : undefined;
    sequenceUntil = event.key === 'g' ? event.timeStamp + SEQUENCE_MS : 0;
    const action = view === undefined ? actions.get(event.key) : () => navigation.go({ view, name: null });
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  document.addEventListener('keydown', onKeyDown);
  return () => document.removeEventListener('keydown', onKeyDown);
}

export interface ShortcutsDialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly enabled: Signal<boolean>;
  readonly actions: readonly PageAction[];
}

/** Dialog that lists the shortcuts and can switch single-key shortcuts off. */
export function ShortcutsDialog({ dialogRef, enabled, actions }: ShortcutsDialogProps): JSX.Element {
  return (
    <Dialog dialogRef={dialogRef} title="Keyboard shortcuts">
      <dl class="shortcuts">
        {[...SHORTCUTS, ...actions.map(({ keys = '', label }) => [keys, label] as const)].map(([key, action]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
        {Object.entries(VIEW_KEYS).map(([key, view]) => (
          <div key={view}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{VIEW_LABEL[view]}</dd>
          </div>
        ))}
      </dl>
      <label class="checkbox">
        <input
          type="checkbox"
          checked={enabled.value}
          onChange={(event) => {
            enabled.value = event.currentTarget.checked;
          }}
        />
        Enable single-key shortcuts
      </label>
    </Dialog>
  );
}
