import type { JSX } from 'preact';

// Shapes on a 16 by 16 grid. Characters would look different in each font.
const CIRCLE = 'M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z';
const PATHS = {
  dot: CIRCLE,
  ring: CIRCLE,
  dashes: CIRCLE,
  check: 'm3 8.5 3.2 3.2L13 4.8',
  triangle: 'M8 3.2 13.6 13H2.4Z',
  clock: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM8 5v3l2 1.5',
  pause: 'M5.5 4v8M10.5 4v8',
  running: 'M8 2.5A5.5 5.5 0 1 1 2.5 8',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3l3.2 3.2',
  close: 'm3.5 3.5 9 9M12.5 3.5l-9 9',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13.2 2v3h-3',
  help: 'M5.7 6a2.3 2.3 0 1 1 3.5 2c-.8.5-1.2.9-1.2 1.8M8 12.4v.1',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  up: 'M8 12.5v-9M4.5 7 8 3.5 11.5 7',
  down: 'M8 3.5v9M4.5 9 8 12.5 11.5 9',
  open: 'm4 6 4 4 4-4',
  closed: 'm6 4 4 4-4 4',
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative icon beside a text that says the same. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden>
      <path d={PATHS[name]} />
    </svg>
  );
}

export interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly title?: string;
  readonly onClick: () => void;
}

/** Button that shows an icon instead of its label. */
export function IconButton({ icon, label, title = label, onClick }: IconButtonProps): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-label={label} title={title} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
