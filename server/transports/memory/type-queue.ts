import type { Clock } from '../clock.js';
import type { ServiceTypeCounts } from '../statistics/sum-counts.js';
import type { Envelope, Subscription } from '../transport.js';
import { AcceptanceOrder } from './queues/acceptance-order.js';
import { DebounceWindows } from './queues/debounce-windows.js';
import { type DelayedItem, DelayQueue } from './queues/delay-queue.js';
import { KeyedList } from './queues/keyed-list.js';
import { RateWindow } from './queues/rate-window.js';
import { WaitingList } from './queues/waiting-list.js';
import { type DeadLetterLimits, DeadLetters } from './records/dead-letters.js';
import type { Entry, StoredWait } from './records/entry.js';
import { type EventFilter, matchesFilter } from './records/event-filter.js';
import { EventLog } from './records/event-log.js';
import type { Journal } from './records/journal.js';
import type { PeriodHistory } from './records/period-history.js';
import type { RevisionCounter } from './records/revision-counter.js';
import { RunLog } from './records/run-log.js';
import { TypeStats } from './records/type-stats.js';
import { QueueSpill } from './spill/queue-spill.js';
import type { SpillListener } from './spill/resident-entries.js';

/** The part of a broker that its queues use. */
export interface QueueHost {
  readonly clock: Clock;
  readonly deadLetterLimits: DeadLetterLimits;
  readonly revision: RevisionCounter;
  readonly journal: Journal;
}

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
  /** Pending entries, the oldest first. */
  readonly accepted: AcceptanceOrder = new AcceptanceOrder();
  readonly #waiting = new WaitingList<Entry>();
  /** Replaces the waiting list of a type with a `key`. */
  #keyed: KeyedList<Entry> | undefined;
  #windows: DebounceWindows<Entry> | undefined;
  readonly #delayed = new DelayQueue<Entry>();
  readonly #timers = new DelayQueue<StoredWait>();
  readonly #onDue: (wait: StoredWait) => void;
  /** Entries beyond those in memory; `undefined` if the transport has all of them in memory. */
  readonly #spill: QueueSpill | undefined;
  readonly #journal: Journal;
  #concurrency = Number.POSITIVE_INFINITY;
  #rate: RateWindow | undefined;
  /** Handlers that outlive their attempt. */
  readonly #overdue = new Set<{ readonly key: string | undefined }>();
  /** The type has its own concurrency or rate, so its deliveries take no slot of the shared concurrency. */
  hasOwnLimits = false;
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
    this.#journal = journal;
    this.#spill = journal.spill && new QueueSpill(this, journal.spill, this.accepted, listener);
    this.#onDue = onDue;
  }

  /**
   * Puts the settings of a subscription in effect.
   *
   * @param running entries of the type that are running
   */
  subscribe(subscription: Subscription, running: () => readonly Entry[]): void {
    const { concurrency, rate, keepsRuns, retain, perKey, debounce } = subscription;
    this.subscription = subscription;
    if (keepsRuns === true) {
      this.runs ??= new RunLog((entry, ended) => this.#journal.run(this, entry, ended));
      if (retain !== undefined) this.runs.retention = retain;
    }
    this.hasOwnLimits = concurrency !== undefined || rate !== undefined;
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    // An unchanged rate continues its window: a restart must not allow a second burst.
    if (!this.#rate?.enforces(rate)) this.#rate = rate === undefined ? undefined : new RateWindow(rate, this.#rate);
    this.#windows = debounce === undefined ? undefined : new DebounceWindows(debounce, this.#windows);
    this.#limitKeys(perKey, running);
    this.#journal.queue(this);
  }

  #limitKeys(perKey: Subscription['perKey'], running: () => readonly Entry[]): void {
    if (perKey !== undefined && this.#keyed !== undefined) {
      this.#keyed.setLimits(perKey);
      return;
    }
    const isChanged = (perKey === undefined) !== (this.#keyed === undefined);
    // It may throw.
    if (isChanged) this.#spill?.regroup(perKey !== undefined);
    const waiting: Entry[] = [];
    if (perKey !== undefined) {
      for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) waiting.push(entry);
    } else if (this.#keyed !== undefined) {
      for (const entry of this.#keyed.items()) waiting.push(entry);
    }
    this.#keyed = perKey === undefined ? undefined : new KeyedList(perKey, this.#spill);
    if (this.#keyed !== undefined) {
      for (const entry of running()) this.#keyed.adopt(entry);
      for (const { key } of this.#overdue) this.#keyed.addOverdue(key);
    }
    for (const entry of waiting) this.#pushInMemory(entry);
    for (const key of this.#spill?.keys ?? []) this.#keyed?.listSpilled(key);
  }

  /** The dispatcher may find an entry to start. */
  get hasReady(): boolean {
    if (this.#spill?.isDamaged === true) return false;
    if (this.#keyed !== undefined) return this.#keyed.hasReady;
    return this.#waiting.size > 0 || this.#spill?.hasWaiting === true;
  }

  /** An entry waits that needs no other entry to end first. */
  get hasWaiting(): boolean {
    if (this.#spill?.isDamaged === true) return false;
    if (this.#keyed !== undefined) return this.#keyed.hasWaiting;
    return this.#waiting.size > 0 || this.#spill?.hasWaiting === true;
  }

  get hasFreeSlot(): boolean {
    return this.stats.active + this.#overdue.size < this.#concurrency;
  }

  /** Time from which the rate allows the next start; may be in the past. */
  get openAt(): number {
    return this.#rate === undefined ? Number.NEGATIVE_INFINITY : this.#rate.openAt;
  }

  /** Due time of the first delayed entry or of the first wait by time; `undefined` if there is neither. */
  get nextDueAt(): number | undefined {
    const dueAt = earliest(this.#delayed.nextDueAt, this.#timers.nextDueAt, this.#spill?.nextDueAt);
    return dueAt === Number.POSITIVE_INFINITY ? undefined : dueAt;
  }

  /** Time at which the dispatcher has to look at the queue again; infinite if only an event of the hub changes it. */
  get nextWakeAt(): number {
    const { nextDueAt: delayed } = this.#delayed;
    return earliest(delayed, this.#timers.nextDueAt, this.#spill?.nextWakeAt, this.#keyed?.nextDueAt);
  }

  /** Adds a pending entry. */
  admit(entry: Entry): void {
    this.accepted.add(entry);
    this.#spill?.admit(entry);
  }

  /** Removes an entry that is no longer pending. */
  forget(entry: Entry): void {
    if (this.#spill === undefined) this.accepted.remove(entry);
    else this.#spill.forget(entry);
  }

  push(entry: Entry): void {
    if (this.#spill?.takes(entry) === true) this.#keyed?.listSpilled(entry.envelope.key);
    else this.#pushInMemory(entry);
  }

  #pushInMemory(entry: Entry): void {
    if (this.#keyed === undefined) this.#waiting.push(entry, entry.envelope.priority);
    else this.#keyed.push(entry);
  }

  pushDelayed(entry: Entry, dueAt: number): void {
    entry.dueAt = dueAt;
    this.stats.delayed += 1;
    if (this.#spill !== undefined && !this.isDebounced(entry) && this.#spill.takesDelayed(entry, dueAt)) return;
    this.#delayed.push(entry, dueAt);
  }

  /** Adds a waiting entry that was stored, behind those that were accepted before it. */
  restoreWaiting(entry: Entry): void {
    const before = this.#spill === undefined ? [] : this.#spill.restoreBefore(entry);
    for (const each of before ?? []) this.#pushInMemory(each);
    if (before === undefined) this.#keyed?.listSpilled(entry.envelope.key);
    else this.#pushInMemory(entry);
  }

  /** Reads the extent of the spilled entries at the start. @param delayed number of those that are delayed */
  restoreSpilled(delayed: number): void {
    this.stats.delayed += delayed;
    this.#spill?.restore();
    for (const key of this.#spill?.keys ?? []) this.#keyed?.listSpilled(key);
  }

  /** Follows a spilled entry that was stored. */
  stored(entry: Entry): void {
    this.#spill?.stored(entry);
  }

  findSpilled(id: string): readonly Entry[] {
    return this.#spill?.find({ id }) ?? [];
  }

  /** Moves a spilled entry into memory; `undefined` if there is none with the id. */
  takeSpilled(id: string): Entry | undefined {
    const entry = this.#spill?.take(id);
    if (entry?.dueAt !== undefined) this.#delayed.push(entry, entry.dueAt);
    else if (entry !== undefined) this.#pushInMemory(entry);
    return entry;
  }

  /** An entry is pending. */
  get hasPending(): boolean {
    return this.accepted.oldest !== undefined || this.#spill?.hasPending === true;
  }

  /** Returns an entry in memory, or moves one into memory; `undefined` if none is pending. */
  anyPending(): Entry | undefined {
    const entry = this.accepted.oldest ?? this.#spill?.anyInMemory;
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

  /** Opens the debounce window of a new entry. Returns its end; `undefined` if the type is not debounced. */
  openWindow(entry: Entry, clock: Clock): number | undefined {
    return this.#windows?.open(entry, clock.monotonic());
  }

  /** Opens the debounce window of a restored entry again. */
  restoreWindow(entry: Entry, openedAt: number): void {
    this.#windows?.restore(entry, openedAt);
  }

  /** Returns `true` if the entry waits in a debounce window. */
  isDebounced(entry: Entry): boolean {
    return this.#windows?.find(entry.envelope.key) === entry;
  }

  /** Takes a slot of its key for a restored entry that had one. */
  holdKey(entry: Entry): void {
    this.#keyed?.hold(entry);
  }

  /** Returns `true` if the event would replace the payload of an event that waits in its debounce window. */
  hasWindow(envelope: Envelope): boolean {
    return this.#windows?.find(envelope.key) !== undefined;
  }

  /**
   * Replaces the payload of the event that waits in the debounce window of the key, and extends the window.
   * Returns the waiting entry and its new due time; `undefined` if there is none.
   */
  debounce(envelope: Envelope, clock: Clock): { readonly entry: Entry; readonly dueAt: number } | undefined {
    const entry = this.#windows?.find(envelope.key);
    if (this.#windows === undefined || entry === undefined) return undefined;
    entry.envelope = { ...envelope, id: entry.envelope.id, dedupe: entry.envelope.dedupe };
    const dueAt = this.#windows.extend(entry, clock.monotonic());
    this.#delayed.remove(entry);
    this.#delayed.push(entry, dueAt);
    entry.dueAt = dueAt;
    this.stats.countDeduplicated();
    return { entry, dueAt };
  }

  /** Moves the delayed entries that are due to the waiting ones, and resolves the waits that are due. */
  promoteDue(now: number): void {
    for (let wait = this.#timers.shift(now); wait !== undefined; wait = this.#timers.shift(now)) this.#onDue(wait);
    const until = this.#readDue(now);
    for (let entry = this.#delayed.shift(until); entry !== undefined; entry = this.#delayed.shift(until)) {
      this.#windows?.close(entry);
      this.#countUndelayed(entry);
      this.push(entry);
    }
    this.#keyed?.promote(now);
  }

  /** Reads the spilled entries that are due. Returns the time until which all that are due are in memory. */
  #readDue(now: number): number {
    if (this.#spill === undefined) return now;
    const { entries, until } = this.#spill.readDue(now);
    for (const entry of entries) this.#delayed.push(entry, entry.dueAt ?? now);
    return until;
  }

  #countUndelayed(entry: Entry): void {
    entry.dueAt = undefined;
    this.stats.delayed -= 1;
    this.stats.markChanged();
  }

  /** Requeues a released entry as the first of its key and priority. */
  unshift(entry: Entry): void {
    if (this.#keyed === undefined) this.#waiting.unshift(entry, entry.envelope.priority);
    else this.#keyed.unshift(entry);
  }

  /** Removes an entry that is not running. */
  remove(entry: Entry, now: number): void {
    if (this.#delayed.remove(entry)) {
      this.#windows?.close(entry);
      this.#countUndelayed(entry);
    } else if (this.#keyed === undefined) this.#waiting.remove(entry);
    else this.#keyed.remove(entry, now);
  }

  /** Takes the next waiting entry that the limits per key allow, and counts its start. */
  start(clock: Clock): Entry | undefined {
    const entry = this.#keyed === undefined ? this.#shiftWaiting() : this.#keyed.shift(clock.monotonic());
    if (entry === undefined) return undefined;
    if (this.runs !== undefined && !this.isRun(entry)) this.#beginRun(entry, this.runs);
    const now = clock.now();
    if (!entry.hasStarted) this.stats.countWait(Math.max(0, now - entry.acceptedAt), now);
    entry.hasStarted = true;
    entry.startedAt = now;
    this.#rate?.countStart(clock.monotonic());
    this.stats.countStart();
    return entry;
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

  #shiftWaiting(): Entry | undefined {
    if (this.#spill?.hasWaiting === true) {
      const entries = this.#spill.refill(undefined, this.#waiting.topPriority);
      for (const entry of entries) this.#waiting.push(entry, entry.envelope.priority);
    }
    return this.#waiting.shift();
  }

  /** Counts a running attempt of an entry as over, whether or not it has an outcome. */
  release(entry: Entry): void {
    this.stats.countRelease();
    this.#keyed?.pause(entry);
  }

  /** Frees the slot of its key that an ended entry took. */
  releaseKey(entry: Entry, clock: Clock): void {
    this.#keyed?.release(entry, clock.monotonic());
  }

  /**
   * Takes a slot of the type and of the entry's key for a handler that outlives its attempt. Returns a function that
   * frees them.
   */
  holdSlot({ envelope: { key } }: Entry): (now: number) => void {
    const overdue = { key };
    this.#overdue.add(overdue);
    this.#keyed?.addOverdue(key);
    return (now) => {
      this.#overdue.delete(overdue);
      this.#keyed?.removeOverdue(key, now);
    };
  }

  get counts(): ServiceTypeCounts {
    const { received, completed, failed, cancelled, active, delayed, suspended, retried, deduplicated } = this.stats;
    const { lastReceivedAt, lastFailedAt } = this.stats;
    const counters = { received, completed, failed, cancelled, active, delayed, suspended, retried, deduplicated };
    return {
      ...counters,
      approvals: this.runs?.approvals.size,
      deadLetters: this.deadLetters.size,
      oldestPendingAt: this.#spill === undefined ? this.accepted.oldest?.acceptedAt : this.#spill.oldestPendingAt,
      lastReceivedAt,
      lastFailedAt,
    };
  }

  /** Pending entries in memory. */
  *inMemory(): Iterable<Entry> {
    yield* this.accepted.newestFirst();
    yield* this.#spill?.inMemory() ?? [];
  }

  /** Returns the pending entries of an event or a request, those of the storage included. */
  find(filter: EventFilter): readonly Entry[] {
    const inMemory = [...this.inMemory()].filter(({ envelope }) => matchesFilter(filter, envelope));
    return [...inMemory, ...(this.#spill?.find(filter) ?? [])];
  }

  /** Returns the number of pending entries of a request. */
  countOf(requestId: string): number {
    let count = this.#spill?.count(requestId) ?? 0;
    for (const { envelope } of this.inMemory()) if (envelope.requestId === requestId) count += 1;
    return count;
  }

  /** Returns the pending entries that were accepted last, newest first. */
  newest(limit: number): readonly Entry[] {
    const newest: Entry[] = [];
    for (const entry of this.accepted.newestFirst()) {
      if (newest.length === limit) break;
      newest.push(entry);
    }
    if (this.#spill === undefined) return newest;
    const position = ({ record }: Entry): number => record?.position ?? 0;
    return [...newest, ...this.#spill.inMemory(), ...this.#spill.find({ newest: limit })]
      .sort((a, b) => position(b) - position(a))
      .slice(0, limit);
  }

  /** Entries that are not running. */
  *pending(): Iterable<Entry> {
    if (this.runs !== undefined) yield* this.runs.pending();
    yield* this.#delayed.items();
    yield* this.#keyed === undefined ? this.#waiting.items() : this.#keyed.items();
  }
}

function earliest(...times: readonly (number | undefined)[]): number {
  return Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
}
