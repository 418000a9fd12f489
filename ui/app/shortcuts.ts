import type { Navigation } from '../routing/navigation.js';
import { type Preferences, THEMES } from './preferences.js';

/** Keys and what they do, as the dialog of shortcuts lists them. */
export const SHORTCUTS: readonly (readonly [key: string, action: string])[] = [
  ['/', 'Search event types'],
  ['j', 'Go to the next event type'],
  ['k', 'Go to the one before'],
  ['Enter', 'Open it'],
  ['t', 'Change the theme'],
  ['Esc', 'Close what is open'],
  ['?', 'Show this list'],
];

export interface ShortcutTargets {
  readonly navigation: Navigation;
  readonly preferences: Preferences;
  focusSearch(): void;
  /** Moves the focus to the next row (1) or the one before (-1). */
  moveFocus(step: 1 | -1): void;
  showHelp(): void;
}

/** Listens for shortcuts until the function that it returns is called. */
export function listenForShortcuts(document: Document, targets: ShortcutTargets): () => void {
  const { navigation, preferences } = targets;
  const actions = new Map<string, () => void>([
    ['/', targets.focusSearch],
    ['j', () => targets.moveFocus(1)],
    ['k', () => targets.moveFocus(-1)],
    ['t', () => cycleTheme(preferences)],
    ['?', targets.showHelp],
  ]);
  const onKeyDown = (event: KeyboardEvent): void => {
    // An open dialog has the keyboard for itself.
    if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
    if (event.key === 'Escape') {
      // The browser clears a search box on Escape: that comes first.
      if (event.target instanceof HTMLInputElement && event.target.value !== '') return;
      navigation.go({ name: null });
      return;
    }
    if (!preferences.shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return;
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  document.addEventListener('keydown', onKeyDown);
  return () => document.removeEventListener('keydown', onKeyDown);
}

function cycleTheme({ theme }: Preferences): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}
