import type { Broker } from '../../broker/broker.js';
import type { Entry, StoredWait } from '../../broker/entry.js';
import type { RunWaits } from '../../broker/runs.js';
import type { TypeQueue } from '../../broker/type-queue.js';
import type { Clock } from '../../clock.js';
import type { Histories } from '../../statistics/stats.js';
import type { Database, Row } from '../database/driver.js';
import { StoredValueError } from '../sqlite-errors.js';
import {
  deadLetterOf,
  endedEventsOf,
  endedRunOf,
  failuresOf,
  numberOf,
  objectOf,
  optionalNumber,
  optionalText,
  periodOf,
  scheduleOf,
  subscriptionOf,
  textOf,
  waitOf,
} from '../stored-values.js';
import { entryOfRow, eventStates } from './entry-rows.js';
import { type SqliteJournal, storedCounters, totalHistoryName } from './sqlite-journal.js';

/** End of a stored event, to be restored in the order of ends. */
interface End {
  readonly order: number;
  readonly restore: () => void;
}

/** Restores the state of a broker from its file. @param isOwner no other process has the file: its attempts have ended */
export function loadState(database: Database, broker: Broker, journal: SqliteJournal, isOwner: boolean): void {
  const queues = loadQueues(database, broker, journal);
  loadHistories(database, broker);
  for (const row of database.prepare('SELECT * FROM dedupe_ids ORDER BY until').iterate()) {
    broker.restoreDedupe(textOf(row, 'type'), textOf(row, 'id'), textOf(row, 'event'), numberOf(row, 'until'));
  }
  // The file has everything that was loaded. Events, however, may have to leave memory.
  journal.markWritten();
  journal.spill.remembered = (type, dedupeId) => broker.remembered(type, dedupeId);
  loadSpilled(database, broker, queues);
  loadEvents(database, broker, queues, isOwner);
  for (const row of database.prepare('SELECT record FROM schedules').iterate()) {
    broker.schedules.restore(scheduleOf(row));
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

function loadHistories(database: Database, broker: Broker): void {
  for (const row of database.prepare('SELECT * FROM periods ORDER BY type, kind, period').iterate()) {
    const type = textOf(row, 'type');
    const history = broker.statistics.history(type === totalHistoryName ? undefined : type);
    history.restore(kindOf(row), periodOf(row));
  }
}

function kindOf(row: Row): keyof Histories {
  const kind = textOf(row, 'kind');
  if (kind === 'minutes' || kind === 'fiveMinutes' || kind === 'hours') return kind;
  throw new StoredValueError('kind');
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
    const known = broker.remembered(queueOf(row, queues).type, textOf(row, 'dedupe'));
    if (known?.eventId === textOf(row, 'id')) known.hold();
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
  const remembered = (type: string, dedupeId: string) => broker.remembered(type, dedupeId);
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
