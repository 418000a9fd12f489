import type { Broker } from '../../broker/broker.js';
import { overlapIds } from '../../broker/dedupe-window.js';
import type { Entry, StoredWait } from '../../broker/entry.js';
import type { RunWaits } from '../../broker/run-waits.js';
import type { TypeQueue } from '../../broker/type-queue.js';
import type { Clock } from '../../clock.js';
import type { Envelope } from '../../delivery.js';
import { StartLog } from '../../start-log.js';
import type { PeriodHistory } from '../../statistics/period-history.js';
import type { Database, Row } from '../database/driver.js';
import { StoredValueError } from '../sqlite-errors.js';
import {
  countedMinuteOf,
  deadLetterOf,
  endedEventsOf,
  endedRunOf,
  failuresOf,
  numberOf,
  numbersOf,
  objectOf,
  optionalNumber,
  optionalText,
  scheduleOf,
  storedScheduleOf,
  subscriptionOf,
  textOf,
  waitOf,
} from '../stored-values.js';
import { entryOfRow, eventStates } from './entry-rows.js';
import { totalHistoryName } from './history-rows.js';
import { keyOfType, type SqliteJournal, storedCounters } from './sqlite-journal.js';

/** End of a stored event, to be restored in the order of ends. */
interface End {
  readonly order: number;
  readonly restore: () => void;
}

/** Restores the state of a broker from its file. @param isOwner no other process has the file: its attempts have ended */
export function loadState(database: Database, broker: Broker, journal: SqliteJournal, isOwner: boolean): void {
  const queues = loadQueues(database, broker, journal);
  const unpacked = loadHistories(database, broker);
  for (const row of database.prepare('SELECT * FROM dedupe_ids ORDER BY until').iterate()) {
    broker.restoreDedupe(textOf(row, 'type'), textOf(row, 'id'), textOf(row, 'event'), numberOf(row, 'until'));
  }
  // The file has everything that was loaded. Events, however, may have to leave memory, and starts may no longer
  // count.
  journal.markWritten();
  for (const type of unpacked) journal.histories.pack(type, broker.statistics.history(type));
  journal.spill.remembered = (envelope) => broker.remembered(envelope);
  loadStarts(database, broker, queues);
  loadSpilled(database, broker, queues);
  loadEvents(database, broker, queues, isOwner);
  for (const row of database.prepare('SELECT record FROM schedules').iterate()) {
    broker.schedules.restore(scheduleOf(row));
  }
  for (const row of database.prepare('SELECT * FROM stored_schedules').iterate()) {
    broker.storedSchedules.restore(storedScheduleOf(row));
  }
}

function loadQueues(database: Database, broker: Broker, journal: SqliteJournal): ReadonlyMap<number, TypeQueue> {
  const queues = new Map<number, TypeQueue>();
  const rows = database.prepare('SELECT * FROM queues').all();
  for (const row of rows) {
    const queue = broker.group(textOf(row, 'service')).queues.of(textOf(row, 'type'));
    const id = numberOf(row, 'id');
    queues.set(id, queue);
    journal.queues.restore(queue, id);
    const counters = objectOf(row, 'counters');
    for (const name of storedCounters) {
      const value = optionalNumber(counters, name);
      if (value !== undefined) queue.stats[name] = value;
    }
    queue.stats.failures.push(...failuresOf(row));
  }
  for (const row of database.prepare('SELECT * FROM routes').iterate()) {
    broker.restoreRoute(textOf(row, 'type'), textOf(row, 'service'));
  }
  for (const row of rows) {
    const subscription = subscriptionOf(row);
    if (subscription !== undefined) broker.group(textOf(row, 'service')).members.apply(subscription);
  }
  for (const row of database.prepare('SELECT * FROM recent_events').iterate()) {
    const queue = queues.get(numberOf(row, 'queue'));
    for (const event of endedEventsOf(row)) queue?.log.restore(event);
  }
  return queues;
}

function loadStarts(database: Database, { clock }: Broker, queues: ReadonlyMap<number, TypeQueue>): void {
  const offset = clock.monotonic() - clock.now();
  for (const row of database.prepare('SELECT * FROM starts').all()) {
    const key = textOf(row, 'key');
    const starts = StartLog.restore(numbersOf(row, 'starts'), offset);
    queueOf(row, queues).restoreStarts({ key: key === keyOfType ? undefined : key, starts });
  }
}

/** Returns the types with minutes that are over and not packed; `undefined` for the history of all types. */
function loadHistories(database: Database, broker: Broker): ReadonlySet<string | undefined> {
  const historyOf = (row: Row): PeriodHistory => broker.statistics.history(typeOf(row));
  for (const row of database.prepare('SELECT * FROM histories').iterate()) {
    historyOf(row).restore([[textOf(row, 'part'), textOf(row, 'text')]]);
  }
  const unpacked = new Set<string | undefined>();
  for (const row of database.prepare('SELECT * FROM counted_minutes ORDER BY type, minute').iterate()) {
    const history = historyOf(row);
    history.add(numberOf(row, 'minute'), countedMinuteOf(row));
    if (history.hasChanges) unpacked.add(typeOf(row));
  }
  return unpacked;
}

function typeOf(row: Row): string | undefined {
  const type = textOf(row, 'type');
  return type === totalHistoryName ? undefined : type;
}

/** Counts the events that stay in the file until it is their turn. */
function loadSpilled(database: Database, broker: Broker, queues: ReadonlyMap<number, TypeQueue>): void {
  const sizes = database.prepare(
    'SELECT queue, count(*) AS count, sum(bytes) AS bytes, count(due_at) AS delayed FROM spilled_events GROUP BY queue',
  );
  for (const row of sizes.all()) {
    broker.pending.restore(numberOf(row, 'count'), numberOf(row, 'bytes'));
    queueOf(row, queues).restoreSpilled(numberOf(row, 'delayed'));
  }
  const remembered = database.prepare('SELECT queue, id, dedupe FROM spilled_events WHERE dedupe IS NOT NULL');
  for (const row of remembered.iterate()) {
    const known = broker.rememberedId(queueOf(row, queues).type, textOf(row, 'dedupe'));
    if (known?.eventId === textOf(row, 'id')) known.hold();
  }
  const overlapping = database.prepare(
    "SELECT queue, id, key FROM spilled_events WHERE key IS NOT NULL AND json_extract(envelope, '$.overlap') IS NOT NULL",
  );
  for (const row of overlapping.iterate()) {
    const known = broker.rememberedId(overlapIds(queueOf(row, queues).type), textOf(row, 'key'));
    known?.add(textOf(row, 'id'));
    known?.hold();
  }
}

function queueOf(row: Row, queues: ReadonlyMap<number, TypeQueue>): TypeQueue {
  const queue = queues.get(numberOf(row, 'queue'));
  if (queue === undefined) throw new StoredValueError('queue');
  return queue;
}

function loadEvents(
  database: Database,
  broker: Broker,
  queues: ReadonlyMap<number, TypeQueue>,
  isOwner: boolean,
): void {
  const checkpoints = loadCheckpoints(database);
  const byPosition = new Map<number, { readonly entry: Entry; readonly queue: TypeQueue }>();
  const ends: End[] = [];
  const remembered = (envelope: Envelope) => broker.remembered(envelope);
  for (const row of database.prepare('SELECT * FROM events ORDER BY position').iterate()) {
    const queue = queueOf(row, queues);
    const entry = entryOfRow(row, {
      type: queue.type,
      clock: broker.clock,
      table: 'events',
      remembered,
      ...(isOwner && { interruptedAt: broker.clock.now() }),
      checkpoints: (position) => checkpoints.get(position) ?? (queue.runs === undefined ? undefined : new Map()),
    });
    entry.remembered?.hold();
    byPosition.set(numberOf(row, 'position'), { entry, queue });
    if (entry.ended) restoreEnds(entry, row, queue, ends);
    else {
      broker.pending.restore(1, entry.bytes);
      const isDebounced = (numberOf(row, 'state') & eventStates.debounced) !== 0;
      restoreEntry(broker, queue, entry, isDebounced);
    }
  }
  for (const { restore } of ends.sort((a, b) => a.order - b.order)) restore();
  for (const row of database.prepare('SELECT * FROM waits ORDER BY position, key').iterate()) {
    const found = byPosition.get(numberOf(row, 'position'));
    if (found === undefined) throw new StoredValueError('position');
    const owner = broker.group(found.queue.service);
    restoreWait(broker, found.queue, {
      wait: waitOf(row),
      owner,
      entry: found.entry,
      since: numberOf(row, 'since'),
      timer: undefined,
    });
  }
}

function restoreEnds(entry: Entry, row: Row, queue: TypeQueue, ends: End[]): void {
  const { record } = entry;
  if (record === undefined) return;
  if (optionalText(row, 'dead_letter') !== undefined) {
    const stored = objectOf(row, 'dead_letter');
    const letter = deadLetterOf(stored);
    record.deadLetter = letter;
    record.endOrder = numberOf(stored, 'endOrder');
    ends.push({ order: record.endOrder, restore: () => queue.deadLetters.restore(entry, letter) });
  }
  if (optionalText(row, 'run') !== undefined) {
    const stored = objectOf(row, 'run');
    const ended = endedRunOf(stored);
    record.run = ended;
    record.endOrder = numberOf(stored, 'endOrder');
    queue.runs?.accept(entry);
    ends.push({ order: record.endOrder, restore: () => queue.runs?.restoreEnd(entry, ended) });
  }
}

function loadCheckpoints(database: Database): Map<number, Map<string, string>> {
  const all = new Map<number, Map<string, string>>();
  for (const row of database.prepare('SELECT * FROM checkpoints ORDER BY position, number').iterate()) {
    const position = numberOf(row, 'position');
    let run = all.get(position);
    if (run === undefined) {
      run = new Map();
      all.set(position, run);
    }
    run.set(textOf(row, 'key'), textOf(row, 'value'));
  }
  return all;
}

/** The part of the broker that restored entries use. */
export interface RestoreHost {
  readonly clock: Clock;
  readonly waits: RunWaits;
}

/** Adds a stored entry that has not ended. The queue has its settings already. */
function restoreEntry({ clock }: RestoreHost, queue: TypeQueue, entry: Entry, isDebounced: boolean): void {
  queue.admit(entry);
  queue.runs?.accept(entry);
  if (isDebounced) queue.delayed.restoreWindow(entry, clock.monotonic() - (clock.now() - entry.acceptedAt));
  if (entry.hasStarted) queue.holdKey(entry);
  if (entry.isSuspended) queue.stats.countSuspended(1);
  else if (entry.dueAt !== undefined) queue.delayed.push(entry, entry.dueAt);
  else queue.restoreWaiting(entry);
}

/** Adds a stored wait of a restored entry. */
function restoreWait({ clock, waits }: RestoreHost, queue: TypeQueue, stored: StoredWait): void {
  const { wait, since } = stored;
  waits.restore(stored);
  if (wait.delayMs === undefined) return;
  const dueAt = clock.monotonic() + since + wait.delayMs - clock.now();
  stored.timer = queue.addTimer(stored, dueAt);
}
