import type { IconName } from '../shared/icon.js';
import type { Monitor } from '../state/monitor.js';
import { DEFAULT_ROUTE, type Navigation } from '../state/navigation.js';
import { type Preferences, THEMES } from './preferences.js';

/** Action of the page: an entry of a menu and of the palette, and a shortcut if it has a key. */
export interface PageAction {
  readonly label: string;
  readonly icon: IconName;
  /** Keys that do the same. */
  readonly keys?: string;
  readonly run: () => void;
}

/** Actions of the page by name. */
export type PageActions = Readonly<Record<'refresh' | 'pause' | 'theme' | 'snapshot' | 'help', PageAction>>;

/** Parts of the page that the actions change, and functions that open the dialogs. */
export interface PageActionTargets {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly preferences: Preferences;
  showSnapshots(): void;
  showHelp(): void;
}

/** Returns the actions of the page in its current state. */
export function pageActions({ monitor, navigation, preferences, ...dialogs }: PageActionTargets): PageActions {
  const isPaused = navigation.route.value.every === 'off';
  return {
    refresh: { label: 'Refresh now', icon: 'refresh', keys: 'r', run: () => monitor.refresh() },
    pause: {
      label: `${isPaused ? 'Resume' : 'Pause'} updates`,
      icon: isPaused ? 'closed' : 'pause',
      keys: 'p',
      run: () => togglePause(navigation),
    },
    theme: { label: 'Change the theme', icon: 'ring', keys: 't', run: () => cycleTheme(preferences) },
    snapshot: { label: 'Snapshot', icon: 'copy', run: dialogs.showSnapshots },
    help: { label: 'Keyboard shortcuts', icon: 'help', keys: '?', run: dialogs.showHelp },
  };
}

function togglePause({ route, go }: Navigation): void {
  go({ every: route.value.every === 'off' ? DEFAULT_ROUTE.every : 'off' }, { replace: true });
}

/** Changes the theme to the next one. */
function cycleTheme({ theme }: Preferences): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}
