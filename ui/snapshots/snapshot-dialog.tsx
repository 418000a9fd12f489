import type { JSX, RefObject } from 'preact';
import { Dialog } from '../controls/dialog.js';
import type { Snapshots } from './use-snapshots.js';

export interface SnapshotDialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly snapshots: Snapshots;
}

/** Dialog that saves a snapshot to a file and opens one. */
export function SnapshotDialog({ dialogRef, snapshots }: SnapshotDialogProps): JSX.Element {
  return (
    <Dialog dialogRef={dialogRef} title="Snapshot">
      <p>
        A snapshot is a file of what this page shows, to look at later or elsewhere. Drop one on the page to open it.
      </p>
      <p role="alert" class="tone-failed">
        {snapshots.problem}
      </p>
      <button type="button" class="button" disabled={snapshots.shown.store.hub.value === null} onClick={snapshots.save}>
        Save snapshot
      </button>
      <label class="button file">
        Open snapshot
        <input
          type="file"
          accept=".json"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) void snapshots.open(file);
            // Allows choosing the same file again.
            currentTarget.value = '';
          }}
        />
      </label>
    </Dialog>
  );
}
