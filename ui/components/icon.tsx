import type { JSX } from 'preact';

// Drawn on a grid of 16; shapes and not characters, so that they look the same whatever fonts there are.
const PATHS = {
  dot: <circle cx="8" cy="8" r="4" fill="currentColor" stroke="none" />,
  ring: <circle cx="8" cy="8" r="4" />,
  dashes: <circle cx="8" cy="8" r="4" stroke-dasharray="2.2 2" />,
  check: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  triangle: <path d="M8 3.2 13.6 13H2.4Z" fill="currentColor" />,
  clock: <path d="M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM8 5v3l2 1.5" />,
  pause: <path d="M5.5 4v8M10.5 4v8" />,
  hourglass: <path d="M4 2.5h8M4 13.5h8M5 2.5c0 3.5 6 7.5 6 11M11 2.5c0 3.5-6 7.5-6 11" />,
  percent: (
    <path d="m4 12 8-8M5 3.6a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8ZM11 9.6a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8Z" />
  ),
  pulse: <path d="M1.5 8.5H5l2-5 2.5 9 2-4h3" />,
  running: <path d="M8 2.5A5.5 5.5 0 1 1 2.5 8" />,
  snapshot: <path d="M2.5 5h2.8l1.2-1.7h3L10.7 5h2.8v8h-11zM8 6.6a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4Z" />,
  search: <path d="M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3l3.2 3.2" />,
  close: <path d="m3.5 3.5 9 9M12.5 3.5l-9 9" />,
  refresh: <path d="M13 8a5 5 0 1 1-1.5-3.6M13.2 2v3h-3" />,
  link: (
    <path d="M6.6 9.4a2.8 2.8 0 0 0 4 0l2-2a2.8 2.8 0 0 0-4-4l-.8.8M9.4 6.6a2.8 2.8 0 0 0-4 0l-2 2a2.8 2.8 0 0 0 4 4l.8-.8" />
  ),
  help: <path d="M5.7 6a2.3 2.3 0 1 1 3.5 2c-.8.5-1.2.9-1.2 1.8M8 12.4v.1" />,
  copy: <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />,
  up: <path d="M8 12.5v-9M4.5 7 8 3.5 11.5 7" />,
  open: <path d="m4 6 4 4 4-4" />,
  closed: <path d="m6 4 4 4-4 4" />,
  down: <path d="M8 3.5v9M4.5 9 8 12.5 11.5 9" />,
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside a word that says the same. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}
