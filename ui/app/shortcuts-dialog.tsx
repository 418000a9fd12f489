import type { Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { Dialog } from '../controls/dialog.js';
import { SHORTCUTS } from './shortcuts.js';

export interface ShortcutsDialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly enabled: Signal<boolean>;
}

/** Dialog that lists the shortcuts and can switch single-key shortcuts off. */
export function ShortcutsDialog({ dialogRef, enabled }: ShortcutsDialogProps): JSX.Element {
  return (
    <Dialog dialogRef={dialogRef} title="Keyboard shortcuts">
      <dl class="shortcuts">
        {SHORTCUTS.map(([key, action]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
      <label class="checkbox">
        <input
          type="checkbox"
          checked={enabled.value}
          onChange={(event) => {
            enabled.value = event.currentTarget.checked;
          }}
        />
        Enable single-key shortcuts
      </label>
    </Dialog>
  );
}
