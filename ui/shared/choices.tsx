import type { JSX } from 'preact';

export interface ChoicesProps<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  /** Returns the text of an option. */
  readonly nameOf: (option: T) => string;
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** Buttons of which one is pressed, with their label. */
export function Choices<T extends string>({ label, options, nameOf, value, onChange }: ChoicesProps<T>): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      <div class="segments">
        {options.map((option) => (
          <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
            {nameOf(option)}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

export interface SelectProps<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  /** Returns the text of an option. */
  readonly nameOf: (option: T) => string;
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** Select box with its label. */
export function Select<T extends string>({ label, options, nameOf, value, onChange }: SelectProps<T>): JSX.Element {
  return (
    <label class="select" title={label}>
      <select
        aria-label={label}
        value={value}
        onChange={(event) => {
          const chosen = options.find((option) => option === event.currentTarget.value);
          if (chosen !== undefined) onChange(chosen);
        }}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {nameOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
