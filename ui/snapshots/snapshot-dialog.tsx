import type { JSX, RefObject } from 'preact';
import { Dialog } from '../shared/dialog.js';
import type { Snapshots } from './use-snapshots.js';

export interface SnapshotDialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly snapshots: Snapshots;
}

/** Saves what the page shows to a file, and opens such a file. */
export function SnapshotDialog({ dialogRef, snapshots }: SnapshotDialogProps): JSX.Element {
  return (
    <Dialog dialogRef={dialogRef} title="Snapshot">
      <p>A file of what this page shows. Drop one on the page to open it.</p>
      <p role="alert" class="tone-failed">
        {snapshots.problem}
      </p>
      <button type="button" class="button" disabled={snapshots.shown.store.hub.value === null} onClick={snapshots.save}>
        Save
      </button>
      <label class="button file">
        Open a file
        <input
          type="file"
          accept=".json"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) void snapshots.open(file);
            // So that the same file can be chosen again.
            currentTarget.value = '';
          }}
        />
      </label>
    </Dialog>
  );
}
