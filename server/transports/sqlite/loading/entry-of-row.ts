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
export function entryOfRow(row: Row, { type, clock, table, remembered, checkpoints }: EntryContext): Entry {
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
  return {
    envelope,
    attempt: numberOf(row, 'attempt'),
    ended: !isPending,
    acceptedAt: numberOf(row, 'accepted_at'),
    hasStarted: (state & eventStates.started) !== 0,
    older: undefined,
    newer: undefined,
    recentIndex: 0,
    lease: undefined,
    keyHolder: undefined,
    bytes: Buffer.byteLength(envelope.body),
    remembered: isPending && known?.eventId === id ? known : undefined,
    checkpoints: checkpoints(position),
    waits: undefined,
    isSuspended: (state & eventStates.suspended) !== 0,
    dueAt: isDelayed ? dueAt - clock.now() + clock.monotonic() : undefined,
    ...startsOf(row),
    record: {
      position,
      table,
      isSpilled,
      turn: isSpilled ? numberOf(row, 'turn') : 0,
      isErased: false,
      deadLetter: undefined,
      run: undefined,
      endOrder: 0,
    },
  };
}
