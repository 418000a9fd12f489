import type { RememberedId } from '../../broker/dedupe-window.js';
import { type Entry, type EntryRecord, noteInterruption } from '../../broker/entry.js';
import type { StoredQueue } from '../../broker/journal.js';
import type { Clock } from '../../clock.js';
import type { CompleteEnvelope, Envelope } from '../../delivery.js';
import type { Database, Row, Statement } from '../database/driver.js';
import { envelopeOf, numberOf, optionalNumber, startsOf } from '../stored-values.js';

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
    const { attempt, envelope, acceptedAt, checkpoints, bytes } = entry;
    const dueAt = entry.dueAt === undefined ? null : entry.dueAt + this.#clock.now() - this.#clock.monotonic();
    const starts = entry.hasStarted ? startsText(entry) : null;
    const { id, priority, body } = envelope;
    const place = [position, queueId, state, attempt, acceptedAt, dueAt, starts, priority, id] as const;
    if (target === 'spilled_events') {
      const { requestId, key = null, dedupe } = envelope;
      const keys = [record.turn, key, requestId, dedupe?.id ?? null, bytes] as const;
      this.#insertSpilled.run(...place, envelopeText(envelope), body, ...keys);
      return;
    }
    const ends = [endText(record.deadLetter, record), endText(record.run, record)] as const;
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

function startsText({ startedAt, attempts, neededVersion, lease, isAdmitted }: Entry): string {
  return JSON.stringify({
    startedAt,
    attempts,
    neededVersion,
    ...(lease !== undefined && { isRunning: true }),
    ...(isAdmitted && { isAdmitted }),
  });
}

/** Returns the part of an envelope without columns of its own. */
function envelopeText({
  requestId,
  depth,
  delayMs,
  replays,
  dedupe,
  trace,
  key,
  causeId,
  parent,
  receives,
  cancelOn,
  overlap,
}: Envelope): string {
  const stored: Omit<CompleteEnvelope, 'id' | 'type' | 'body' | 'priority'> &
    Pick<Envelope, 'receives' | 'cancelOn' | 'overlap'> = {
    requestId,
    depth,
    delayMs,
    replays,
    dedupe,
    trace,
    key,
    causeId,
    parent,
    receives,
    cancelOn,
    overlap,
  };
  return JSON.stringify(stored);
}

function endText(end: object | undefined, { endOrder }: EntryRecord): string | null {
  return end === undefined ? null : JSON.stringify({ ...end, endOrder });
}

/** State in memory to which a stored event belongs. */
export interface EntryContext {
  readonly type: string;
  readonly clock: Clock;
  readonly table: NonNullable<EntryRecord['table']>;
  /** Returns the ids in use by which a pending event is remembered. */
  readonly remembered: (envelope: Envelope) => RememberedId | undefined;
  /** Epoch milliseconds at which the process that ran the stored attempts is known to have ended. Absent if it may run. */
  readonly interruptedAt?: number;
  /** Returns the recorded entries of a run; `undefined` for events that are not runs. */
  readonly checkpoints: (position: number) => Map<string, string> | undefined;
}

/** Returns the entry of a stored event. */
export function entryOfRow(row: Row, context: EntryContext): Entry {
  return new StoredEntry(row, context);
}

// Instances of classes: V8 learns from a start on a file with many events that literals of this place live long, and
// then creates those of all later reads in the old generation, where they stay until a full collection.
class StoredEntry implements Entry {
  envelope: Entry['envelope'];
  attempt: number;
  isAdmitted: boolean;
  ended: boolean;
  readonly acceptedAt: number;
  hasStarted: boolean;
  startedAt: number;
  attempts: Entry['attempts'];
  dueAt: number | undefined;
  older: Entry | undefined = undefined;
  newer: Entry | undefined = undefined;
  recentIndex = 0;
  lease: Entry['lease'] = undefined;
  keyHolder: object | undefined = undefined;
  bytes: number;
  readonly remembered: RememberedId | undefined;
  checkpoints: Map<string, string> | undefined;
  waits: Entry['waits'] = undefined;
  inbox: Entry['inbox'] = undefined;
  isSuspended: boolean;
  neededVersion: number | undefined;
  record: EntryRecord | undefined;

  constructor(row: Row, { type, clock, table, remembered, interruptedAt, checkpoints }: EntryContext) {
    const state = numberOf(row, 'state');
    const position = numberOf(row, 'position');
    const envelope = envelopeOf(row, type);
    const isPending = (state & eventStates.pending) !== 0;
    const dueAt = optionalNumber(row, 'due_at');
    const isSpilled = table === 'spilled_events';
    // A spilled event is delayed until its queue promotes it.
    const isDelayed = dueAt !== undefined && (isSpilled || dueAt > clock.now());
    const { startedAt, attempts, neededVersion, isRunning, isAdmitted } = startsOf(row);
    this.envelope = envelope;
    this.attempt = numberOf(row, 'attempt');
    this.isAdmitted = isAdmitted;
    this.ended = !isPending;
    this.acceptedAt = numberOf(row, 'accepted_at');
    this.hasStarted = (state & eventStates.started) !== 0;
    this.startedAt = startedAt;
    this.attempts = attempts;
    if (isRunning && interruptedAt !== undefined) noteInterruption(this, interruptedAt);
    this.dueAt = isDelayed ? dueAt - clock.now() + clock.monotonic() : undefined;
    this.bytes = Buffer.byteLength(envelope.body);
    this.remembered = isPending ? remembered(envelope) : undefined;
    this.checkpoints = checkpoints(position);
    this.isSuspended = (state & eventStates.suspended) !== 0;
    this.neededVersion = neededVersion;
    this.record = new StoredRecord(position, table, isSpilled ? numberOf(row, 'turn') : 0);
  }
}

class StoredRecord implements EntryRecord {
  readonly position: number;
  table: EntryRecord['table'];
  isSpilled: boolean;
  turn: number;
  isErased = false;
  deadLetter: EntryRecord['deadLetter'] = undefined;
  run: EntryRecord['run'] = undefined;
  endOrder = 0;

  constructor(position: number, table: NonNullable<EntryRecord['table']>, turn: number) {
    this.position = position;
    this.table = table;
    this.isSpilled = table === 'spilled_events';
    this.turn = turn;
  }
}
