import type { JSX } from 'preact';

export interface ChoicesProps<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  /** Returns the text of an option. */
  readonly nameOf: (option: T) => string;
  /** Pressed option; `null` if there is none. */
  readonly value: T | null;
  readonly onChange: (value: T) => void;
}

/** Buttons of which one is pressed, below their label. */
export function Choices<T extends string>(choices: ChoicesProps<T>): JSX.Element {
  return (
    <div class="choices">
      <span class="view-table-note" aria-hidden>
        {choices.label}
      </span>
      <Segments {...choices} />
    </div>
  );
}

/** Buttons in a row of which one is pressed. The label is for screen readers. */
export function Segments<T extends string>({ label, options, nameOf, value, onChange }: ChoicesProps<T>): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {nameOf(option)}
        </button>
      ))}
    </fieldset>
  );
}

export interface SelectProps<T extends string> extends ChoicesProps<T> {
  readonly value: T;
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
