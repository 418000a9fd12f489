import type { Clock } from '../../clock.js';
import type { RememberedId } from '../../memory/records/dedupe-window.js';
import type { Entry, EntryRecord } from '../../memory/records/entry.js';
import type { Row } from '../database/driver.js';
import { eventStates } from '../journal/entry-rows.js';
import { envelopeOf, numberOf, optionalNumber, startsOf } from './stored-values.js';

/** State in memory to which a stored event belongs. */
export interface EntryContext {
  readonly type: string;
  readonly clock: Clock;
  readonly table: NonNullable<EntryRecord['table']>;
  /** Returns the deduplication id in use. */
  readonly remembered: (type: string, dedupeId: string) => RememberedId | undefined;
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
  isSuspended: boolean;
  record: EntryRecord | undefined;

  constructor(row: Row, { type, clock, table, remembered, checkpoints }: EntryContext) {
    const state = numberOf(row, 'state');
    const position = numberOf(row, 'position');
    const envelope = envelopeOf(row, type);
    const { dedupe, id } = envelope;
    const known = dedupe && remembered(type, dedupe.id);
    const isPending = (state & eventStates.pending) !== 0;
    const dueAt = optionalNumber(row, 'due_at');
    const isSpilled = table === 'spilled_events';
    // A spilled event is delayed until its queue promotes it.
    const isDelayed = dueAt !== undefined && (isSpilled || dueAt > clock.now());
    const { startedAt, attempts } = startsOf(row);
    this.envelope = envelope;
    this.attempt = numberOf(row, 'attempt');
    this.ended = !isPending;
    this.acceptedAt = numberOf(row, 'accepted_at');
    this.hasStarted = (state & eventStates.started) !== 0;
    this.startedAt = startedAt;
    this.attempts = attempts;
    this.dueAt = isDelayed ? dueAt - clock.now() + clock.monotonic() : undefined;
    this.bytes = Buffer.byteLength(envelope.body);
    this.remembered = isPending && known?.eventId === id ? known : undefined;
    this.checkpoints = checkpoints(position);
    this.isSuspended = (state & eventStates.suspended) !== 0;
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
