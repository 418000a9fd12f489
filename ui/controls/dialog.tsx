import type { ComponentChildren, JSX, RefObject } from 'preact';

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
