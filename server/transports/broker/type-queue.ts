import type { Clock } from '../clock.js';
import { delayOf, type Outcome, type Subscription, toRecorded } from '../delivery.js';
import type { DeadLetterFilter } from '../event-record.js';
import { StartLog } from '../start-log.js';
import type { PeriodHistory } from '../statistics/period-history.js';
import { type Counts, type ServiceTypeCounts, sumCounts } from '../statistics/stats.js';
import type { DeadLetterRecord } from '../transport.js';
import { AcceptanceOrder, type Entry, type LostEvent, type StoredWait } from './entry.js';
import type { CountedStarts, Journal } from './journal.js';
import { DelayedEntries, NewerRuns, type OverdueSlot, PendingReader, WaitingEntries } from './pending-entries.js';
import { QueueSpill } from './queue-spill.js';
import { type DelayedItem, DelayQueue } from './queues.js';
import type { SpillListener } from './resident-entries.js';
import { RunLog } from './runs.js';
import { EventLog, type RevisionCounter, TypeStats } from './type-stats.js';

/** The part of a broker that its queues use. */
export interface QueueHost {
  readonly clock: Clock;
  readonly deadLetterLimits: DeadLetterLimits;
  readonly revision: RevisionCounter;
  readonly journal: Journal;
}

const noStarts: readonly CountedStarts[] = [];

/** One event type in one service: waiting and delayed entries, limits, statistics, dead letters and runs. */
export class TypeQueue {
  readonly service: string;
  readonly type: string;
  readonly stats: TypeStats;
  readonly deadLetters: DeadLetters;
  /** Ended events that have no run record. */
  readonly log: EventLog = new EventLog();
  /** `undefined` if no subscription of the type keeps runs. */
  runs: RunLog | undefined;
  readonly reader: PendingReader;
  readonly delayed: DelayedEntries;
  /** Runs that wait for a consumer with a higher version; `undefined` before the first one. */
  newer: NewerRuns | undefined;
  readonly #waiting: WaitingEntries;
  /** Pending entries, the oldest first. */
  readonly #accepted = new AcceptanceOrder();
  readonly #timers = new DelayQueue<StoredWait>();
  readonly #onDue: (wait: StoredWait) => void;
  /** Entries beyond those in memory; `undefined` if the transport has all of them in memory. */
  readonly #spill: QueueSpill | undefined;
  readonly #clock: Clock;
  readonly #journal: Journal;
  #concurrency = Number.POSITIVE_INFINITY;
  /** Starts that a rate of the type counts. A later rate counts them too. */
  #starts: StartLog | undefined;
  /** Handlers that outlive their attempt. */
  readonly #overdue = new Set<OverdueSlot>();
  #counts: Counts | undefined;
  /** The type has its own concurrency or rate, so its deliveries take no slot of the shared concurrency. */
  hasOwnLimits = false;
  /** The dispatcher starts nothing of the queue. */
  isPaused = false;
  /** Subscription whose settings are in effect. */
  subscription: Subscription | undefined;
  /** The dispatcher has the queue in its list of queues to serve. */
  listed = false;
  /** Time of the dispatcher's next timer for the queue. */
  wakeAt: number = Number.POSITIVE_INFINITY;

  /**
   * @param onDue resolves a wait by time
   * @param listener follows entries that leave memory or are read again
   */
  constructor(
    service: string,
    type: string,
    { clock, deadLetterLimits, revision, journal }: QueueHost,
    history: PeriodHistory,
    onDue: (wait: StoredWait) => void,
    listener: SpillListener,
  ) {
    this.service = service;
    this.type = type;
    this.stats = new TypeStats(history, revision, () => journal.queue(this));
    this.deadLetters = new DeadLetters(deadLetterLimits, clock, (entry, letter) =>
      journal.deadLetter(this, entry, letter),
    );
    this.#clock = clock;
    this.#journal = journal;
    this.#spill = journal.spill && new QueueSpill(this, journal.spill, this.#accepted, listener);
    this.reader = new PendingReader(this.#accepted, this.#spill);
    this.delayed = new DelayedEntries(this.stats, this.#spill);
    this.#waiting = new WaitingEntries(this.#spill, (key) => journal.forgetStarts(this, key));
    this.#onDue = onDue;
  }

  /**
   * Puts the settings of a subscription in effect.
   *
   * @param running entries of the type that are running
   */
  subscribe(subscription: Subscription, running: () => readonly Entry[]): void {
    const { concurrency, rate, retainsRuns, retain, perKey, debounce } = subscription;
    this.subscription = subscription;
    if (retainsRuns === true) {
      this.runs ??= new RunLog(this.service, this.#clock, this.#journal, (entry, ended) =>
        this.#journal.run(this, entry, ended),
      );
      if (retain !== undefined) this.runs.retention = retain;
    }
    this.hasOwnLimits = concurrency !== undefined || rate !== undefined;
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    if (rate !== undefined) {
      this.#starts ??= new StartLog(rate);
      this.#starts.setRate(rate);
    }
    this.delayed.setDebounce(debounce);
    this.#waiting.limitKeys(perKey, running, this.#overdue);
    this.#journal.queue(this);
  }

  /** The dispatcher may find an entry to start. */
  get hasReady(): boolean {
    return this.#waiting.hasReady;
  }

  /** An entry waits that needs no other entry to end first. */
  get hasWaiting(): boolean {
    return this.#waiting.hasWaiting;
  }

  get hasFreeSlot(): boolean {
    return this.stats.active + this.#overdue.size < this.#concurrency;
  }

  /** Time from which the rate allows the next start; may be in the past. */
  get openAt(): number {
    return this.#counted?.openAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Starts of the type, if a rate limits them. */
  get #counted(): StartLog | undefined {
    return this.subscription?.rate === undefined ? undefined : this.#starts;
  }

  /** Starts that count with the start of an entry. Empty if no rate limits it. */
  startsWith({ envelope: { key } }: Entry): readonly CountedStarts[] {
    return toCountedStarts(this.#counted, key, this.#waiting.startsOf(key));
  }

  /** Takes back the start of an entry, and returns what a rate counts without it. @param now epoch milliseconds */
  takeBackStart(entry: Entry, now: number): readonly CountedStarts[] {
    const at = this.#clock.monotonic() - Math.max(0, now - entry.startedAt);
    this.#counted?.uncountStart(at);
    return toCountedStarts(this.#counted, entry.envelope.key, this.#waiting.takeBackStart(entry, at));
  }

  /** Sets stored starts, after the settings of the queue. @param key `undefined` for those of the type */
  restoreStarts({ key, starts }: CountedStarts): void {
    if (key !== undefined) {
      this.#waiting.restoreStarts(key, starts, this.#clock.monotonic());
      return;
    }
    if (this.subscription?.rate !== undefined) starts.setRate(this.subscription.rate);
    this.#starts = starts;
  }

  /** Due time of the first delayed entry or of the first wait by time; `undefined` if there is neither. */
  get nextDueAt(): number | undefined {
    const dueAt = Math.min(this.delayed.nextDueAt, this.#timers.nextDueAt ?? Number.POSITIVE_INFINITY);
    return dueAt === Number.POSITIVE_INFINITY ? undefined : dueAt;
  }

  /** Time at which the dispatcher has to look at the queue again; infinite if only an event of the hub changes it. */
  get nextWakeAt(): number {
    const timerDueAt = this.#timers.nextDueAt ?? Number.POSITIVE_INFINITY;
    return Math.min(this.delayed.nextWakeAt, timerDueAt, this.#waiting.nextDueAt);
  }

  /** Adds a pending entry. */
  admit(entry: Entry): void {
    this.#accepted.add(entry);
    this.#spill?.admit(entry);
  }

  /** Removes an entry that is no longer pending. */
  forget(entry: Entry): void {
    if (this.#spill === undefined) this.#accepted.remove(entry);
    else this.#spill.forget(entry);
  }

  push(entry: Entry): void {
    this.#waiting.push(entry);
  }

  /** Adds a waiting entry that was stored, behind those that were accepted before it. */
  restoreWaiting(entry: Entry): void {
    this.#waiting.restore(entry);
  }

  /** Reads the extent of the spilled entries at the start. @param delayed number of those that are delayed */
  restoreSpilled(delayed: number): void {
    this.stats.delayed += delayed;
    this.#spill?.restore();
    this.#waiting.listSpilled();
  }

  /** Follows a spilled entry that was stored. */
  stored(entry: Entry): void {
    this.#spill?.stored(entry);
  }

  /** Moves a spilled entry into memory; `undefined` if there is none with the id. */
  takeSpilled(id: string): Entry | undefined {
    const entry = this.#spill?.take(id);
    if (entry?.dueAt !== undefined) this.delayed.pushRead(entry, entry.dueAt);
    else if (entry !== undefined) this.#waiting.pushRead(entry);
    return entry;
  }

  /** Returns an entry in memory, or moves one into memory; `undefined` if none is pending. */
  anyPending(): Entry | undefined {
    const entry = this.#accepted.oldest ?? this.#spill?.anyInMemory;
    if (entry !== undefined || this.#spill === undefined) return entry;
    const [spilled] = this.#spill.find({ newest: 1 });
    return spilled && this.takeSpilled(spilled.envelope.id);
  }

  addTimer(wait: StoredWait, dueAt: number): DelayedItem<StoredWait> {
    return this.#timers.push(wait, dueAt);
  }

  removeTimer(timer: DelayedItem<StoredWait>): void {
    this.#timers.delete(timer);
  }

  isDebounced(entry: Entry): boolean {
    return this.delayed.isDebounced(entry);
  }

  /** Takes a slot of its key for a restored entry that had one. */
  holdKey(entry: Entry): void {
    this.#waiting.hold(entry);
  }

  /** Moves the delayed entries that are due to the waiting ones, and resolves the waits that are due. */
  promoteDue(now: number): void {
    for (let wait = this.#timers.shift(now); wait !== undefined; wait = this.#timers.shift(now)) this.#onDue(wait);
    const until = this.delayed.readDue(now);
    for (let entry = this.delayed.shift(until); entry !== undefined; entry = this.delayed.shift(until)) {
      this.push(entry);
    }
    this.#waiting.promote(now);
  }

  /** Requeues a released entry as the first of its key and priority. */
  unshift(entry: Entry): void {
    this.#waiting.unshift(entry);
  }

  /** Removes an entry that is not running. */
  remove(entry: Entry, now: number): void {
    if (!this.delayed.remove(entry) && this.newer?.remove(entry) !== true) this.#waiting.remove(entry, now);
  }

  /**
   * Takes the next entry that the limits per key allow, and counts its start. Returns `undefined` if the next one needs a
   * higher version, which it waits for from now on.
   *
   * @param version version of the workflow on the consumer
   */
  start(clock: Clock, version: number): Entry | undefined {
    const entry = this.#takeNewer(clock, version) ?? this.#waiting.shift(clock);
    if (entry === undefined) return undefined;
    if ((entry.neededVersion ?? 0) > version) {
      this.#waiting.pause(entry);
      this.awaitVersion(entry);
      return undefined;
    }
    if (this.runs !== undefined && !this.isRun(entry)) this.#beginRun(entry, this.runs);
    const now = clock.now();
    if (!entry.hasStarted) this.stats.countWait(Math.max(0, now - entry.acceptedAt - delayOf(entry.envelope)), now);
    entry.hasStarted = true;
    entry.startedAt = now;
    this.#counted?.countStart(clock.monotonic());
    this.stats.countStart();
    return entry;
  }

  /** Lets a run wait for a consumer with the version that it needs. */
  awaitVersion(entry: Entry): void {
    this.newer ??= new NewerRuns();
    this.newer.add(entry);
  }

  #takeNewer(clock: Clock, version: number): Entry | undefined {
    const entry = this.newer?.take(version);
    if (entry === undefined) return undefined;
    if (this.#waiting.resume(entry, clock)) return entry;
    this.#waiting.push(entry);
    return undefined;
  }

  /** Returns whether the type keeps a record of the entry. */
  isRun(entry: Entry): boolean {
    return this.runs?.entry(entry.envelope.id) === entry;
  }

  /** Keeps a record of an entry that was accepted before its type kept runs. */
  #beginRun(entry: Entry, runs: RunLog): void {
    this.#spill?.pin(entry);
    entry.checkpoints ??= new Map();
    runs.accept(entry);
  }

  /** Counts a running attempt of an entry as over, whether or not it has an outcome. */
  release(entry: Entry): void {
    this.stats.countRelease();
    this.#waiting.pause(entry);
  }

  /** Frees the slot of its key that an ended entry took. */
  releaseKey(entry: Entry, clock: Clock): void {
    this.#waiting.release(entry, clock);
  }

  /**
   * Takes a slot of the type and of the entry's key for a handler that outlives its attempt. Returns a function that
   * frees them.
   */
  holdSlot({ envelope: { key } }: Entry): (now: number) => void {
    const overdue = { key };
    this.#overdue.add(overdue);
    this.#waiting.addOverdue(overdue);
    return (now) => {
      this.#overdue.delete(overdue);
      this.#waiting.removeOverdue(overdue, now);
    };
  }

  /** The same object until one of the counts changes. */
  get counts(): Counts {
    this.#counts = readQueueCounts(this, this.#counts);
    return this.#counts;
  }

  /** Entries that are not running. */
  *pending(): Iterable<Entry> {
    if (this.runs !== undefined) yield* this.runs.pending();
    yield* this.delayed.items();
    yield* this.#waiting.items();
  }
}

function toCountedStarts(
  ofType: StartLog | undefined,
  key: string | undefined,
  ofKey: StartLog | undefined,
): readonly CountedStarts[] {
  if (ofType === undefined && ofKey === undefined) return noStarts;
  return [
    ...(ofType === undefined ? [] : [{ key: undefined, starts: ofType }]),
    ...(ofKey === undefined ? [] : [{ key, starts: ofKey }]),
  ];
}

/** The parts of a queue that have counts. */
export interface CountedQueue {
  readonly stats: Pick<
    ServiceTypeCounts,
    Exclude<keyof ServiceTypeCounts, 'deadLetters' | 'approvals' | 'awaitingVersion' | 'oldestPendingAt'>
  >;
  readonly deadLetters: { readonly size: number };
  readonly runs: { readonly approvals: { readonly size: number } } | undefined;
  readonly newer: { readonly size: number } | undefined;
  readonly reader: { readonly oldestAt: number | undefined };
}

/** Returns the counts of a queue. @param last an earlier result, which is returned if nothing has changed since */
export function readQueueCounts(queue: CountedQueue, last: Counts | undefined): Counts {
  const { stats, deadLetters, runs, newer, reader } = queue;
  const hasPending = stats.received > stats.completed + stats.failed;
  const oldestPendingAt = hasPending ? reader.oldestAt : undefined;
  const openDeadLetters = deadLetters.size;
  const approvals = runs?.approvals.size ?? 0;
  const awaitingVersion = newer?.size ?? 0;
  if (
    last !== undefined &&
    last.received === stats.received &&
    last.completed === stats.completed &&
    last.filtered === stats.filtered &&
    last.failed === stats.failed &&
    last.cancelled === stats.cancelled &&
    last.active === stats.active &&
    last.delayed === stats.delayed &&
    last.suspended === stats.suspended &&
    last.retried === stats.retried &&
    last.deduplicated === stats.deduplicated &&
    last.lastReceivedAt === stats.lastReceivedAt &&
    last.lastFailedAt === stats.lastFailedAt &&
    last.deadLetters === openDeadLetters &&
    last.oldestPendingAt === oldestPendingAt &&
    (last.approvals ?? 0) === approvals &&
    (last.awaitingVersion ?? 0) === awaitingVersion
  ) {
    return last;
  }
  const { received, completed, filtered, failed, cancelled, active, delayed, suspended, retried } = stats;
  const { deduplicated, lastReceivedAt, lastFailedAt } = stats;
  return sumCounts([
    {
      received,
      completed,
      filtered,
      failed,
      cancelled,
      active,
      delayed,
      suspended,
      retried,
      deduplicated,
      lastReceivedAt,
      lastFailedAt,
      deadLetters: openDeadLetters,
      approvals,
      awaitingVersion,
      oldestPendingAt,
    },
  ]);
}

/** Dead letter as the broker retains it. */
export interface DeadLetter extends LostEvent {
  readonly entry: Entry;
}

/** Limits of {@link DeadLetters}. */
export interface DeadLetterLimits {
  readonly maxDeadLetters: number;
  /** Age in milliseconds at which a dead letter is evicted. */
  readonly maxDeadLetterAgeMs: number;
}

/** The latest dead letters of one type in one service, up to a number and an age. */
class DeadLetters {
  readonly #limits: DeadLetterLimits;
  readonly #clock: Clock;
  readonly #onChange: (entry: Entry, letter: LostEvent | undefined) => void;
  /** By event id, oldest first. */
  readonly #byId = new Map<string, DeadLetter>();

  /** @param onChange receives each dead letter that is added, and `undefined` for one that is removed */
  constructor(limits: DeadLetterLimits, clock: Clock, onChange: (entry: Entry, letter: LostEvent | undefined) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  add(entry: Entry, { error, step }: Extract<Outcome, { status: 'failed' }>, now: number): void {
    const { maxDeadLetters } = this.#limits;
    if (maxDeadLetters === 0) return;
    this.#evictOld();
    const letter = { at: now, error, step };
    this.restore(entry, letter);
    this.#onChange(entry, letter);
    if (this.#byId.size <= maxDeadLetters) return;
    for (const oldestId of this.#byId.keys()) {
      this.take(oldestId);
      return;
    }
  }

  /** Adds a dead letter that is stored already. */
  restore(entry: Entry, letter: LostEvent): void {
    entry.envelope.pack?.();
    this.#byId.set(entry.envelope.id, { entry, ...letter });
  }

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): Entry | undefined {
    this.#evictOld();
    return this.#byId.get(id)?.entry;
  }

  /** Removes a dead letter and returns its entry; `undefined` if there is none. */
  take(id: string): Entry | undefined {
    const entry = this.#byId.get(id)?.entry;
    this.#byId.delete(id);
    if (entry !== undefined) this.#onChange(entry, undefined);
    return entry;
  }

  /** All dead letters, oldest first. */
  all(): Iterable<DeadLetter> {
    this.#evictOld();
    return this.#byId.values();
  }

  /** Returns at most `limit` dead letters that match the filter, newest first. */
  latest(limit: number, filter: DeadLetterFilter = {}): DeadLetterRecord[] {
    const { requestId, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
    const matches = ({ entry, at }: DeadLetter): boolean =>
      at >= since && at <= until && (requestId === undefined || entry.envelope.requestId === requestId);
    return [...this.all()]
      .filter(matches)
      .slice(-limit)
      .reverse()
      .map(({ entry: { envelope, attempt }, ...failure }) => ({ envelope: toRecorded(envelope), attempt, ...failure }));
  }

  #evictOld(): void {
    const oldestAt = this.#clock.now() - this.#limits.maxDeadLetterAgeMs;
    for (const [id, { at }] of this.#byId) {
      if (at > oldestAt) return;
      this.take(id);
    }
  }
}
