import type { Clock } from '../../clock.js';
import type { Entry, EntryRecord } from '../../memory/records/entry.js';
import type { StoredQueue } from '../../memory/records/stored-queue.js';
import type { Envelope } from '../../transport.js';
import type { Database, Statement } from '../database/driver.js';

/** Bits of the column `state` of a stored event; 0 if it has ended. */
export const eventStates = { pending: 1, started: 2, suspended: 4, debounced: 8 } as const;

/** Writes events to the file. */
export class EntryRows {
  readonly #clock: Clock;
  readonly #insert: Statement;
  readonly #update: Statement;
  readonly #insertSpilled: Statement;
  readonly #delete: { readonly events: Statement; readonly spilled_events: Statement };
  readonly #deleteCheckpoints: Statement;

  constructor(database: Database, clock: Clock) {
    this.#clock = clock;
    this.#insert = database.prepare('INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#update = database.prepare(
      'UPDATE events SET state = ?, attempt = ?, due_at = ?, attempts = ?, dead_letter = ?, run = ? WHERE position = ?',
    );
    this.#insertSpilled = database.prepare(
      'INSERT OR REPLACE INTO spilled_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#delete = {
      events: database.prepare('DELETE FROM events WHERE position = ?'),
      spilled_events: database.prepare('DELETE FROM spilled_events WHERE position = ?'),
    };
    this.#deleteCheckpoints = database.prepare('DELETE FROM checkpoints WHERE position = ?');
  }

  /** Writes the present state of an entry. @param queueId id of its queue in the file */
  write(entry: Entry, record: EntryRecord, queue: StoredQueue, queueId: number): void {
    const { position, table } = record;
    const target = tableOf(entry, record);
    if (table !== undefined && table !== target) this.#delete[table].run(position);
    if (target === undefined) {
      if (entry.checkpoints !== undefined) this.#deleteCheckpoints.run(position);
      return;
    }
    const state = stateOf(entry, queue);
    const { attempt, attempts, startedAt, envelope, acceptedAt, checkpoints, bytes } = entry;
    const dueAt = entry.dueAt === undefined ? null : entry.dueAt + this.#clock.now() - this.#clock.monotonic();
    const starts = entry.hasStarted ? JSON.stringify({ startedAt, attempts }) : null;
    const { id, priority, body } = envelope;
    const place = [position, queueId, state, attempt, acceptedAt, dueAt, starts, priority, id] as const;
    if (target === 'spilled_events') {
      const { requestId, key = null, dedupe } = envelope;
      const keys = [record.turn, key, requestId, dedupe?.id ?? null, bytes] as const;
      this.#insertSpilled.run(...place, envelopeText(envelope), body, ...keys);
      return;
    }
    const ends = [textOf(record.deadLetter, record), textOf(record.run, record)] as const;
    if (record.isErased && checkpoints !== undefined) this.#deleteCheckpoints.run(position);
    if (table === target && !record.isErased && (state & eventStates.debounced) === 0) {
      this.#update.run(state, attempt, dueAt, starts, ...ends, position);
      return;
    }
    this.#insert.run(...place, envelopeText(envelope), body, ...ends);
  }
}

/** Returns the table that has to have the entry; `undefined` if none has. */
export function tableOf(entry: Entry, { isSpilled }: EntryRecord): EntryRecord['table'] {
  if (!isKept(entry)) return undefined;
  return isSpilled ? 'spilled_events' : 'events';
}

/** Returns `true` if the file has to have the entry. */
function isKept({ ended, record }: Entry): boolean {
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
