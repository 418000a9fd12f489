import type { Clock } from '../../clock.js';
import type { Entry, StoredWait } from '../records/entry.js';
import type { RunWaits } from '../records/run-waits.js';
import type { TypeQueue } from './type-queue.js';

/** The part of the broker that restored entries use. */
export interface RestoreHost {
  readonly clock: Clock;
  readonly waits: RunWaits;
}

/** Adds a stored entry that has not ended. The queue has its settings already. */
export function restoreEntry({ clock }: RestoreHost, queue: TypeQueue, entry: Entry, isDebounced: boolean): void {
  queue.admit(entry);
  queue.runs?.accept(entry);
  if (isDebounced) queue.delayed.restoreWindow(entry, clock.monotonic() - (clock.now() - entry.acceptedAt));
  if (entry.hasStarted) queue.holdKey(entry);
  if (entry.isSuspended) queue.stats.countSuspended(1);
  else if (entry.dueAt !== undefined) queue.delayed.push(entry, entry.dueAt);
  else queue.restoreWaiting(entry);
}

/** Adds a stored wait of a restored entry. */
export function restoreWait({ clock, waits }: RestoreHost, queue: TypeQueue, stored: StoredWait): void {
  const { wait, since } = stored;
  waits.restore(stored);
  if (wait.delayMs === undefined) return;
  const dueAt = clock.monotonic() + since + wait.delayMs - clock.now();
  stored.timer = queue.addTimer(stored, dueAt);
}
