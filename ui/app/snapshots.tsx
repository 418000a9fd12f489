import { signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '../shared/overlays.js';
import { createHubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import { readSnapshot, type Snapshot, takeSnapshot } from './snapshot-file.js';

/** Snapshots of the page as files. */
interface Snapshots {
  /** Monitor that the page shows: the live hub or an opened snapshot. */
  readonly shown: Monitor;
  /** Message about the last file, if opening it failed. */
  readonly problem: string;
  save(): void;
  open(file: File): Promise<void>;
  /** Returns to the live hub. */
  close(): void;
}

/**
 * Saves and opens snapshots. A file that is dropped on the page is opened too.
 *
 * @param onOpen called after every attempt to open a file
 */
export function useSnapshots(live: Monitor, onOpen: (succeeded: boolean) => void): Snapshots {
  const [shown, setShown] = useState(live);
  const [problem, setProblem] = useState('');

  const show = (next: Monitor): void => {
    live.hold(next !== live);
    setShown(next);
    setProblem('');
  };

  const open = async (file: File): Promise<void> => {
    try {
      show(createSnapshotMonitor(readSnapshot(await file.text())));
      onOpen(true);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      onOpen(false);
    }
  };

  useEffect(() => {
    const allow = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) void open(file);
    };
    const listeners = new AbortController();
    const untilEnd = { signal: listeners.signal };
    document.addEventListener('dragover', allow, untilEnd);
    document.addEventListener('drop', drop, untilEnd);
    return () => listeners.abort();
  }, []);

  return {
    shown,
    problem,
    open,
    save: () => {
      const text = takeSnapshot(shown);
      if (text !== null) download(text, `${shown.store.hub.value?.service}-${timeInName(shown.serverNow.value)}.json`);
    },
    close: () => show(live),
  };
}

/** Formats a time for a file name, in UTC: "2026-01-05-120000". */
function timeInName(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
}

function download(text: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export interface SnapshotDialogProps {
  readonly dialogRef: RefObject<HTMLDialogElement | null>;
  readonly snapshots: Snapshots;
}

/** Dialog that saves a snapshot to a file and opens one. */
export function SnapshotDialog({ dialogRef, snapshots }: SnapshotDialogProps): JSX.Element {
  return (
    <Dialog dialogRef={dialogRef} title="Snapshot">
      <p>A file of what this page shows. Drop one on the page to open it.</p>
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

/** Creates a monitor of a snapshot, whose clock stands at the time of the snapshot. */
export function createSnapshotMonitor(snapshot: Snapshot): Monitor {
  const { serverNow, introspection, range, detail } = snapshot;
  const at = serverNow - performance.timeOrigin;
  const store = createHubStore();
  store.apply(introspection, { at, serverNow });
  store.select(range);
  return {
    store,
    detail: signal(detail && { key: detail.type, body: detail, error: null }),
    request: signal(null),
    tagged: signal(null),
    waits: signal(null),
    errors: signal(null),
    outlooks: signal(null),
    processes: signal(null),
    agentRuns: signal(null),
    workflowRuns: signal(null),
    listRuns: null,
    connection: signal({ kind: 'snapshot' }),
    announcement: signal('This is a snapshot.'),
    now: signal(at),
    serverNow: signal(serverNow),
    lastGoodAt: signal(at),
    nextAt: signal(null),
    refresh: () => {},
    hold: () => {},
    stop: () => {},
  };
}
