import type { JSX, RefObject } from 'preact';
import { Icon } from '../controls/icon.js';

export interface SearchBoxProps {
  readonly value: string;
  readonly inputRef: RefObject<HTMLInputElement | null>;
  readonly onChange: (value: string) => void;
  /** Called with the text if the user presses Enter. */
  readonly onEnter: (value: string) => void;
}

export function SearchBox({ value, inputRef, onChange, onEnter }: SearchBoxProps): JSX.Element {
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
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') onEnter(currentTarget.value);
        }}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <kbd>/</kbd>
    </div>
  );
}
