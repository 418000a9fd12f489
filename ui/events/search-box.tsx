import type { JSX, RefObject } from 'preact';
import { Icon } from '../shared/icon.js';

export interface SearchBoxProps {
  readonly value: string;
  readonly inputRef: RefObject<HTMLInputElement | null>;
  readonly onChange: (value: string) => void;
}

export function SearchBox({ value, inputRef, onChange }: SearchBoxProps): JSX.Element {
  return (
    <div class="search">
      <label class="visually-hidden" for="search">
        Search event types
      </label>
      <Icon name="search" />
      <input
        id="search"
        ref={inputRef}
        type="search"
        aria-keyshortcuts="/"
        placeholder="Search event types"
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <kbd>/</kbd>
    </div>
  );
}
