import type { JSX } from 'preact';

/** Logo of the product, the same as the favicon. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" />
      <path d="M4.5 3.5v9M11.5 3.5v9M4.5 8h7" />
    </svg>
  );
}
