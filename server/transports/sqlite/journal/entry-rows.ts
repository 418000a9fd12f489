import type { Clock } from '../../clock.js';
import type { Entry, EntryRecord } from '../../memory/records/entry.js';
import type { StoredQueue } from '../../memory/records/journal.js';
import type { Envelope } from '../../transport.js';
import type { Database, Statement } from '../database/driver.js';

/** Bits of the column `state` of a stored event; 0 if it has ended. */
export const eventStates = { pending: 1, started: 2, suspended: 4, debounced: 8 } as const;

/** Writes events to the file. */
export class EntryRows {
  readonly #clock: Clock;
  readonly #insert: Statement;
  readonly #update: Statement;
  readonly #delete: Statement;
  readonly #deleteCheckpoints: Statement;

  constructor(database: Database, clock: Clock) {
    this.#clock = clock;
    this.#insert = database.prepare('INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#update = database.prepare(
      'UPDATE events SET state = ?, attempt = ?, due_at = ?, attempts = ?, dead_letter = ?, run = ? WHERE position = ?',
    );
    this.#delete = database.prepare('DELETE FROM events WHERE position = ?');
    this.#deleteCheckpoints = database.prepare('DELETE FROM checkpoints WHERE position = ?');
  }

  /** Writes the present state of an entry. @param queueId id of its queue in the file */
  write(entry: Entry, record: EntryRecord, queue: StoredQueue, queueId: number): void {
    if (!isKept(entry)) {
      if (record.isStored) this.#delete.run(record.position);
      if (entry.checkpoints !== undefined) this.#deleteCheckpoints.run(record.position);
      return;
    }
    const state = stateOf(entry, queue);
    const { attempt, attempts, startedAt, envelope, acceptedAt, checkpoints } = entry;
    const { position } = record;
    const dueAt = entry.dueAt === undefined ? null : entry.dueAt + this.#clock.now() - this.#clock.monotonic();
    const starts = entry.hasStarted ? JSON.stringify({ startedAt, attempts }) : null;
    const ends = [textOf(record.deadLetter, record), textOf(record.run, record)] as const;
    if (record.isErased && checkpoints !== undefined) this.#deleteCheckpoints.run(position);
    if (record.isStored && !record.isErased && (state & eventStates.debounced) === 0) {
      this.#update.run(state, attempt, dueAt, starts, ...ends, position);
      return;
    }
    const { id, priority, body } = envelope;
    const rest = envelopeText(envelope);
    this.#insert.run(position, queueId, state, attempt, acceptedAt, dueAt, starts, priority, id, rest, body, ...ends);
  }
}

/** Returns whether the file has to have the entry. */
export function isKept({ ended, record }: Entry): boolean {
  return !ended || record?.deadLetter !== undefined || record?.run !== undefined;
}

function stateOf(entry: Entry, queue: StoredQueue): number {
  if (entry.ended) return 0;
  let state: number = eventStates.pending;
  if (entry.hasStarted) state |= eventStates.started;
  if (entry.isSuspended) state |= eventStates.suspended;
  if (queue.isDebounced(entry)) state |= eventStates.debounced;
  return state;
}

/** Returns the part of an envelope without columns of its own. */
function envelopeText({ requestId, depth, delayMs, replays, dedupe, trace, key, causeId, parent }: Envelope): string {
  return JSON.stringify({ requestId, depth, delayMs, replays, dedupe, trace, key, causeId, parent });
}

function textOf(end: object | undefined, { endOrder }: EntryRecord): string | null {
  return end === undefined ? null : JSON.stringify({ ...end, endOrder });
}
