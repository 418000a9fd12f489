import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

export interface MenuProps {
  /** Accessible name of the button; by default its content. */
  readonly label?: string;
  readonly class: string;
  /** Content of the button. */
  readonly button: ComponentChildren;
  /** Returns the content of the open menu. Its controls call `close` if they end the interaction. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** Button that shows controls below it. A click outside, Escape, or moving the focus away closes them. */
export function Menu({ label, class: name, button, children }: MenuProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = (): void => {
    setOpen(false);
    opener.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const leave = ({ target }: Event): void => {
      if (target instanceof Node && box.current?.contains(target) !== true) setOpen(false);
    };
    const listeners = new AbortController();
    document.addEventListener('pointerdown', leave, { signal: listeners.signal });
    document.addEventListener('focusin', leave, { signal: listeners.signal });
    return () => listeners.abort();
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu from every control in it.
    <div
      ref={box}
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.preventDefault();
        close();
      }}
    >
      <button
        ref={opener}
        type="button"
        class={name}
        aria-label={label}
        title={label}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      {isOpen && (
        <div id={id} class="menu-body">
          {children(close)}
        </div>
      )}
    </div>
  );
}

export interface DialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly title: string;
  readonly children: ComponentChildren;
}

/** Modal dialog with a title and a close button. The owner of `dialogRef` opens it. */
export function Dialog({ dialogRef, title, children }: DialogProps): JSX.Element {
  return (
    <dialog ref={dialogRef} class="dialog" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}
