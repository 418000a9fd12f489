import { useEffect, useState } from 'preact/hooks';
import type { Monitor } from '../polling/monitor.js';
import { readSnapshot, takeSnapshot } from './snapshot.js';
import { createSnapshotMonitor } from './snapshot-monitor.js';

/** Snapshots of the page as files. */
export interface Snapshots {
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
