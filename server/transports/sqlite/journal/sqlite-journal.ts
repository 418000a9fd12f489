import type { RememberedId } from '../../broker/dedupe-window.js';
import type { EndedRun, Entry, EntryRecord, LostEvent, StoredWait } from '../../broker/entry.js';
import type { CountedStarts, CrashGuard, Journal, StoredQueue } from '../../broker/journal.js';
import type { Clock, Timer } from '../../clock.js';
import { type Envelope, type Subscription, sizeOf } from '../../delivery.js';
import type { OpenPeriod } from '../../statistics/packed-periods.js';
import type { PeriodHistory } from '../../statistics/period-history.js';
import { type CounterOf, countersOf, type FailureRecord } from '../../statistics/stats.js';
import type { ScheduleRecord, StoredSchedule } from '../../transport.js';
import type { Commits, CommittedState } from '../database/committer.js';
import type { Database, Statement } from '../database/driver.js';
import { toText } from '../stored-values.js';
import { EntryRows, tableOf } from './entry-rows.js';
import { DueWrites, HistoryRows } from './history-rows.js';
import { SpilledEvents, type SpillJournal } from './spilled-events.js';

type CodeSchedule = Omit<ScheduleRecord, 'isOpen' | 'revision'>;
/** Statement to run with the next transaction, and its values. */
export type Write = readonly [statement: Statement, ...values: (string | number | null)[]];

// To store the recent events with each of them would cost more than the event.
const logIntervalMs = 1_000;
// A value of this length takes about as long to write as a row without one.
const lengthPerRow = 8_192;

// To store the start of each attempt would cost each event a write.
const longAttemptMs = 1_000;

/** Key of the starts of a type: no event has it. */
export const keyOfType = '';

/** Attempt that is running. */
interface RunningDelivery {
  readonly queue: StoredQueue;
  readonly entry: Entry;
}

/** Collects the parts of a broker's state that changed, and writes them to the file. */
export class SqliteJournal implements Journal, CommittedState, SpillJournal {
  readonly queues: QueueRows;
  readonly histories: HistoryRows;
  readonly spill: SpilledEvents;
  /** Set by the owner of the file. */
  crashes: CrashGuard | undefined;
  /** Returns the deliveries that are running. Set by the owner of the file. */
  running: (() => readonly RunningDelivery[]) | undefined;
  readonly #committer: Commits;
  readonly #entryRows: EntryRows;
  // Replaced rather than cleared: the table of a cleared map refers to the next one, so that once a table is in the old
  // generation, all later ones and their entries get there too, and stay until a full collection.
  #entries = new Map<Entry, StoredQueue>();
  #queues = new Set<StoredQueue>();
  /** Size of the values to write. */
  #length = 0;
  /** Queues with new recent events, and those of them whose recent events the next transactions store. */
  readonly #logs = new Set<StoredQueue>();
  readonly #dueLogs = new DueWrites<StoredQueue, StoredQueue>();
  #isClosing = false;
  #logTimer: Timer | undefined;
  #startTimer: Timer | undefined;
  /** Starts of the running attempts that are stored. */
  #storedStarts = new Map<Entry, number>();
  readonly #clock: Clock;
  /** Rows of which the memory has no state to write later. */
  #writes: Write[] = [];
  readonly #statements: {
    readonly checkpoint: Statement;
    readonly openWait: Statement;
    readonly closeWait: Statement;
    readonly remember: Statement;
    readonly forget: Statement;
    readonly openRoute: Statement;
    readonly closeRoute: Statement;
    readonly schedule: Statement;
    readonly storedSchedule: Statement;
    readonly claimedSchedule: Statement;
    readonly removedSchedule: Statement;
    readonly dropLog: Statement;
    readonly starts: Statement;
    readonly forgetStarts: Statement;
    readonly forgetAllStarts: Statement;
  };
  #lastPosition: number;
  #lastNumber: number;
  #lastEnd: number;

  /** @param last highest numbers in the file */
  constructor(
    database: Database,
    committer: Commits,
    clock: Clock,
    last: { readonly position: number; readonly number: number; readonly end: number },
    maxPendingInMemory: number,
  ) {
    this.#committer = committer;
    this.#clock = clock;
    this.#lastPosition = last.position;
    this.#lastNumber = last.number;
    this.#lastEnd = last.end;
    this.queues = new QueueRows(database);
    this.#entryRows = new EntryRows(database, clock);
    this.histories = new HistoryRows(database);
    this.spill = new SpilledEvents(database, this, clock, maxPendingInMemory);
    this.#statements = {
      checkpoint: database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)'),
      openWait: database.prepare('INSERT OR REPLACE INTO waits VALUES (?, ?, ?, ?)'),
      closeWait: database.prepare('DELETE FROM waits WHERE position = ? AND key = ?'),
      remember: database.prepare('INSERT OR REPLACE INTO dedupe_ids VALUES (?, ?, ?, ?)'),
      forget: database.prepare('DELETE FROM dedupe_ids WHERE type = ? AND id = ?'),
      openRoute: database.prepare('INSERT OR IGNORE INTO routes VALUES (?, ?)'),
      closeRoute: database.prepare('DELETE FROM routes WHERE type = ? AND service = ?'),
      schedule: database.prepare('INSERT OR REPLACE INTO schedules VALUES (?, ?, ?)'),
      storedSchedule: database.prepare('INSERT OR REPLACE INTO stored_schedules VALUES (?, ?, ?, ?, ?, ?)'),
      claimedSchedule: database.prepare(
        'UPDATE stored_schedules SET position = ?, last_due = ?, look_at = ? WHERE id = ?',
      ),
      removedSchedule: database.prepare('DELETE FROM stored_schedules WHERE id = ?'),
      dropLog: database.prepare('DELETE FROM log_entries WHERE log = ?'),
      starts: database.prepare('INSERT OR REPLACE INTO starts VALUES (?, ?, ?)'),
      forgetStarts: database.prepare('DELETE FROM starts WHERE queue = ? AND key = ?'),
      forgetAllStarts: database.prepare('DELETE FROM starts WHERE queue = ? AND key <> ?'),
    };
  }

  get isStored(): boolean {
    return this.#committer.isStored;
  }

  change<T>(apply: () => T, envelopes: readonly Envelope[] = []): Promise<T> {
    let bytes = 0;
    for (const envelope of envelopes) bytes += sizeOf(envelope);
    return this.#committer.change(apply, bytes);
  }

  settle<T>(apply: () => T): Promise<T> {
    return this.#committer.settle(apply);
  }

  settleLater(apply: () => void, stored?: () => void): void {
    this.#committer.settleLater(apply, stored);
  }

  afterStored(fn: () => void): void {
    this.#committer.afterStored(fn);
  }

  /** Adds a statement to the next transaction. */
  store(write: Write): void {
    this.#writes.push(write);
  }

  entry(queue: StoredQueue, entry: Entry): void {
    this.#entries.set(entry, queue);
    this.#length += entry.bytes;
    if (entry.record !== undefined) return;
    entry.record = {
      position: this.nextPosition(),
      table: undefined,
      isSpilled: false,
      turn: 0,
      isErased: false,
      deadLetter: undefined,
      run: undefined,
      endOrder: 0,
    };
    // Those of a replayed event.
    for (const [key, value] of entry.checkpoints ?? []) this.checkpoint(entry, key, value);
  }

  started(): void {
    if (this.#startTimer !== undefined || this.running === undefined) return;
    this.#startTimer = this.#clock.after(longAttemptMs, () => this.#storeLongAttempts());
    this.#startTimer.unref?.();
  }

  /** Stores that attempts are running, so that one which a kill interrupts leaves a trace. */
  #storeLongAttempts(): void {
    this.#startTimer = undefined;
    const storedStarts = new Map<Entry, number>();
    for (const { queue, entry } of this.running?.() ?? []) {
      const { startedAt } = entry;
      if (this.#clock.now() - startedAt < longAttemptMs) {
        this.started();
        continue;
      }
      if (this.#storedStarts.get(entry) !== startedAt) this.entry(queue, entry);
      storedStarts.set(entry, startedAt);
    }
    this.#storedStarts = storedStarts;
    if (this.#entries.size > 0) this.#committer.settleLater(() => {});
  }

  starts(queue: StoredQueue, counted: readonly CountedStarts[], stored: () => void): void {
    const offset = this.#clock.now() - this.#clock.monotonic();
    this.#committer.settleLater(() => {
      for (const { key = keyOfType, starts } of counted) {
        this.#writes.push([
          this.#statements.starts,
          this.queues.idOf(queue),
          key,
          JSON.stringify(starts.stored(offset)),
        ]);
      }
    }, stored);
  }

  forgetStarts(queue: StoredQueue, key: string | undefined): void {
    const { forgetStarts, forgetAllStarts } = this.#statements;
    this.#writes.push([key === undefined ? forgetAllStarts : forgetStarts, this.queues.idOf(queue), key ?? keyOfType]);
  }

  /** Highest position that an entry has, or had. */
  get lastPosition(): number {
    return this.#lastPosition;
  }

  nextPosition(): number {
    this.#lastPosition += 1;
    return this.#lastPosition;
  }

  idOf(queue: StoredQueue): number {
    return this.queues.idOf(queue);
  }

  suspend(queue: StoredQueue, error: unknown): void {
    this.#committer.suspend(queue, error);
  }

  resume(queue: StoredQueue): void {
    this.#committer.resume(queue);
  }

  reportDamage({ service, type }: StoredQueue, position: number | undefined): void {
    this.#committer.reportDamage({ service, eventType: type, position });
  }

  unreadable(error: unknown): Error {
    return this.#committer.unreadable(error);
  }

  checkpoint({ record }: Entry, key: string, value: string): void {
    if (record === undefined) return;
    this.#lastNumber += 1;
    this.#length += value.length;
    this.#writes.push([this.#statements.checkpoint, record.position, this.#lastNumber, key, value]);
  }

  wait({ entry: { record }, wait, since }: StoredWait, isOpen: boolean): void {
    if (record === undefined) return;
    const { openWait, closeWait } = this.#statements;
    if (isOpen) this.#writes.push([openWait, record.position, wait.key, since, JSON.stringify(wait)]);
    else this.#writes.push([closeWait, record.position, wait.key]);
  }

  deadLetter(queue: StoredQueue, entry: Entry, letter: LostEvent | undefined): void {
    const record = this.#ended(queue, entry, letter !== undefined && entry.record?.deadLetter === undefined);
    if (record !== undefined) record.deadLetter = letter;
  }

  run(queue: StoredQueue, entry: Entry, ended: EndedRun | undefined): void {
    const record = this.#ended(queue, entry, ended !== undefined && entry.record?.run === undefined);
    if (record !== undefined) record.run = ended;
  }

  dropLog(name: string): void {
    this.#writes.push([this.#statements.dropLog, toText(name)]);
  }

  log(queue: StoredQueue): void {
    this.#logs.add(queue);
    this.#logTimer ??= this.#clock.after(logIntervalMs, () => {
      this.#logTimer = undefined;
      this.#makeLogsDue();
      this.#committer.settleLater(() => {});
    });
  }

  #makeLogsDue(): void {
    for (const queue of this.#logs) this.#dueLogs.add(queue, queue);
    this.#logs.clear();
  }

  /** Makes the next transaction store all recent events. */
  close(): void {
    this.#logTimer?.cancel();
    this.#startTimer?.cancel();
    this.#isClosing = true;
    this.#makeLogsDue();
  }

  queue(queue: StoredQueue): void {
    this.#queues.add(queue);
  }

  minute(type: string | undefined, minute: OpenPeriod, history: PeriodHistory): void {
    this.histories.count(type, minute, history);
  }

  dedupe(type: string, dedupeId: string, remembered: RememberedId | undefined): void {
    const { remember, forget } = this.#statements;
    if (remembered === undefined) this.#writes.push([forget, type, dedupeId]);
    else this.#writes.push([remember, type, dedupeId, remembered.eventId, remembered.until]);
  }

  route(type: string, service: string, isOpen: boolean): void {
    const { openRoute, closeRoute } = this.#statements;
    this.#writes.push([isOpen ? openRoute : closeRoute, type, service]);
  }

  schedule(record: CodeSchedule): void {
    this.#writes.push([this.#statements.schedule, record.service, record.name, JSON.stringify(record)]);
  }

  storedSchedule({ id, definition, position, lastDue, lookAt, body }: StoredSchedule): void {
    this.#length += body.length;
    const row = [id, definition, position, lastDue ?? null, lookAt ?? null, body];
    this.#writes.push([this.#statements.storedSchedule, ...row]);
  }

  claimedSchedule({ id, position, lastDue, lookAt }: StoredSchedule): void {
    this.#writes.push([this.#statements.claimedSchedule, position, lastDue ?? null, lookAt ?? null, id]);
  }

  removedSchedule(id: string): void {
    this.#writes.push([this.#statements.removedSchedule, id]);
  }

  get rows(): number {
    const { size } = this.#entries;
    return size + this.#writes.length + this.#queues.size + this.histories.size + this.#length / lengthPerRow;
  }

  write(): void {
    for (const [statement, ...values] of this.#writes) statement.run(...values);
    // After the checkpoints, so that a run that has ended leaves none.
    for (const [entry, queue] of this.#entries) {
      if (entry.record !== undefined) this.#entryRows.write(entry, entry.record, queue, this.queues.idOf(queue));
    }
    for (const queue of this.#queues) this.queues.write(queue);
    this.#dueLogs.write((queue) => this.queues.writeLog(queue), this.#isClosing);
    this.histories.write(this.#isClosing);
  }

  markWritten(): void {
    if (this.#writes.length > 0) this.#writes = [];
    for (const [entry, queue] of this.#entries) markEntry(entry, queue);
    for (const queue of this.#queues) this.queues.markWritten(queue);
    const hasMoreLogs = this.#dueLogs.takeWritten().length > 0 && this.#dueLogs.size > 0;
    const hasMoreHistories = this.histories.markWritten();
    if (hasMoreLogs || hasMoreHistories) this.#committer.settleLater(() => {});
    this.#length = 0;
    this.#entries = new Map();
    this.#queues = new Set();
  }

  #ended(queue: StoredQueue, entry: Entry, isNew: boolean): EntryRecord | undefined {
    this.entry(queue, entry);
    const { record } = entry;
    if (record === undefined || !isNew) return record;
    this.#lastEnd += 1;
    record.endOrder = this.#lastEnd;
    return record;
  }
}

function markEntry(entry: Entry, queue: StoredQueue): void {
  const { record } = entry;
  if (record === undefined) return;
  const former = record.table;
  record.table = tableOf(entry, record);
  record.isErased = false;
  if (former === 'spilled_events' || record.table === 'spilled_events') queue.stored(entry);
}

/** Parts of a queue that change rarely, as they were written. */
interface Written {
  readonly subscription: Subscription | undefined;
  readonly failure: FailureRecord | undefined;
}

/** Counters of a queue that outlive the process. */
export const storedCounters: readonly CounterOf<'stored' | 'latest'>[] = countersOf('stored', 'latest');

/** Writes counters, failures and settings of queues to the file. */
class QueueRows {
  readonly #insert: Statement;
  readonly #count: Statement;
  readonly #log: Statement;
  readonly #ids = new Map<StoredQueue, number>();
  readonly #written = new Map<StoredQueue, Written>();
  #lastId = 0;

  constructor(database: Database) {
    this.#insert = database.prepare('INSERT OR REPLACE INTO queues VALUES (?, ?, ?, ?, ?, ?)');
    this.#log = database.prepare('INSERT OR REPLACE INTO recent_events VALUES (?, ?)');
    this.#count = database.prepare('UPDATE queues SET counters = ? WHERE id = ?');
  }

  /** Registers a queue that the file has. */
  restore(queue: StoredQueue, id: number): void {
    this.#ids.set(queue, id);
    this.#lastId = Math.max(this.#lastId, id);
  }

  idOf(queue: StoredQueue): number {
    let id = this.#ids.get(queue);
    if (id === undefined) {
      this.#lastId += 1;
      id = this.#lastId;
      this.#ids.set(queue, id);
    }
    return id;
  }

  write(queue: StoredQueue): void {
    const { service, type, stats, subscription, runs } = queue;
    const id = this.idOf(queue);
    const counters = JSON.stringify(Object.fromEntries(storedCounters.map((name) => [name, stats[name]])));
    const written = this.#written.get(queue);
    if (written !== undefined && written.subscription === subscription && written.failure === stats.failures[0]) {
      this.#count.run(counters, id);
      return;
    }
    // A type that ceases to keep runs retains those that it has.
    const kept = runs && subscription?.retainsRuns !== true && { retainsRuns: true, retain: runs.retention };
    const settings = subscription === undefined ? null : JSON.stringify({ ...subscription, ...kept });
    this.#insert.run(id, service, type, counters, JSON.stringify(stats.failures), settings);
  }

  /** Writes the recently ended events of a queue. */
  writeLog(queue: StoredQueue): void {
    this.#log.run(this.idOf(queue), JSON.stringify(queue.log.retained));
  }

  markWritten(queue: StoredQueue): void {
    const { subscription, stats } = queue;
    this.#written.set(queue, { subscription, failure: stats.failures[0] });
  }
}
