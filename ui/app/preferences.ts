import { effect, type Signal, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** Preferences of the user. They are stored in the browser, not in the URL, which may be shared. */
export interface Preferences {
  readonly theme: Signal<Theme>;
  /** True if single keys are shortcuts. Speech input and some assistive tools need them off. */
  readonly shortcuts: Signal<boolean>;
}

const THEME_KEY = 'hubline.theme';
const SHORTCUTS_KEY = 'hubline.shortcuts';

/** Reads the preferences, stores every change and sets the theme on the root element. */
export function createPreferences(document: Document): Preferences {
  const stored = read(THEME_KEY);
  const theme = signal<Theme>(THEMES.find((item) => item === stored) ?? 'system');
  const shortcuts = signal(read(SHORTCUTS_KEY) !== 'off');
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    write(THEME_KEY, theme.value);
  });
  effect(() => write(SHORTCUTS_KEY, shortcuts.value ? 'on' : 'off'));
  return { theme, shortcuts };
}

// Browsers may deny storage (sandboxed frame, blocked cookies). Preferences then last until the page is closed.
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {}
}
