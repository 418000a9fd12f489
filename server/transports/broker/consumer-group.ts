import type { Envelope, FailedOutcome, Outcome, RunWait, Subscription } from '../delivery.js';
import { errorOf, ShutdownError } from '../errors.js';
import { type AttemptRecord, keepAttempt } from '../event-record.js';
import type { PeriodHistory } from '../statistics/period-history.js';
import type { CloseResult, ConsumeOptions } from '../transport.js';
import type { RememberedId } from './dedupe-window.js';
import { ConsumerSlots, Dispatcher, type LeasedDelivery, type OutcomeSink } from './dispatcher.js';
import {
  type Entry,
  failedAttempt,
  noteInterruption,
  type RecentEntries,
  type StoredWait,
  type WaitOwner,
} from './entry.js';
import type { Journal } from './journal.js';
import { oldestWaits, type RunWaits } from './runs.js';
import type { TurnBudget } from './turn-budget.js';
import { type QueueHost, TypeQueue } from './type-queue.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost extends QueueHost {
  readonly waits: RunWaits;
  readonly recent: RecentEntries;
  readonly turns: TurnBudget;
  readonly pending: {
    /** Counts a payload that replaced another one. */
    resize(addedBytes: number): void;
  };
  readonly routes: {
    /** Sets the trigger of a subscription in place of the former one of its type. */
    setTrigger(group: ConsumerGroup, subscription: Subscription): void;
  };
  readonly statistics: {
    /** Returns the history of a type, which all services share. */
    history(type: string): PeriodHistory;
  };
  /** Counts one event as no longer pending and accepts its follow-ups. */
  recordEnd(entry: Entry, followUps: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts the events that a step emitted. */
  acceptEmits(envelopes: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts a child run for the group alone. */
  acceptChild(envelope: Envelope, group: ConsumerGroup): void;
}

const noWaits: readonly StoredWait[] = [];
const noAttempts: readonly AttemptRecord[] = [];

/** All hubs of one service: accepts events for them and records the outcomes. */
export class ConsumerGroup implements OutcomeSink, WaitOwner {
  readonly service: string;
  readonly journal: Journal;
  readonly turns: TurnBudget;
  readonly #host: GroupHost;
  readonly #dispatcher: Dispatcher;
  readonly queues: QueuesByType;
  readonly members: GroupMembers;

  constructor(service: string, host: GroupHost) {
    this.service = service;
    this.journal = host.journal;
    this.turns = host.turns;
    this.#host = host;
    this.#dispatcher = new Dispatcher(host.clock, this);
    this.queues = new QueuesByType(service, host, this.#dispatcher);
    this.members = new GroupMembers(host, this.queues, this.#dispatcher, (each) => host.routes.setTrigger(this, each));
  }

  /** Returns the deliveries that are running. */
  running(): readonly LeasedDelivery[] {
    return this.#dispatcher.running();
  }

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, bytes: number, now: number, remembered?: RememberedId): string | undefined {
    const queue = this.queues.of(envelope.type);
    const { clock, journal } = this.#host;
    const debounced = queue.delayed.debounce(envelope, clock);
    if (debounced !== undefined) {
      this.#host.pending.resize(bytes - debounced.entry.bytes);
      debounced.entry.bytes = bytes;
      journal.entry(queue, debounced.entry);
      this.#dispatcher.serveAt(queue, debounced.dueAt);
      return debounced.entry.envelope.id;
    }
    const entry = this.#admit(queue, { envelope, bytes, remembered, checkpoints: undefined }, now);
    const windowEnd = queue.delayed.openWindow(entry, clock);
    if (windowEnd !== undefined) this.queues.pushUntil(queue, entry, windowEnd);
    else if (envelope.delayMs > 0) this.queues.pushDelayed(queue, entry, envelope.delayMs);
    else this.queues.push(queue, entry);
    return undefined;
  }

  /** Returns `true` if {@link accept} would debounce the event, so that it needs no room. */
  debounces(envelope: Envelope): boolean {
    return this.queues.find(envelope.type)?.delayed.hasWindow(envelope) === true;
  }

  findDeadLetter(id: string): Entry | undefined {
    return this.queues.findByDeadLetter(id)?.deadLetters.find(id);
  }

  /** Accepts the event of a dead letter again, without the delay that it had when it was new. */
  replay(id: string, now: number): void {
    const queue = this.queues.findByDeadLetter(id);
    const dead = queue?.deadLetters.take(id);
    if (queue === undefined || dead === undefined) return;
    const { bytes, checkpoints, envelope } = dead;
    queue.log.forget(id);
    this.#host.journal.log(queue);
    const replayed = { ...envelope, body: envelope.body, replays: envelope.replays + 1 };
    const entry = this.#admit(queue, { envelope: replayed, bytes, remembered: undefined, checkpoints }, now);
    this.queues.push(queue, entry);
  }

  #admit(
    queue: TypeQueue,
    { envelope, bytes, remembered, checkpoints }: Pick<Entry, 'envelope' | 'bytes' | 'remembered' | 'checkpoints'>,
    now: number,
  ): Entry {
    // Written out: a spread made every accepted event measurably slower.
    const entry: Entry = {
      envelope,
      bytes,
      remembered,
      checkpoints: checkpoints ?? (queue.runs === undefined ? undefined : new Map()),
      attempt: 1,
      ended: false,
      acceptedAt: now,
      hasStarted: false,
      startedAt: 0,
      attempts: noAttempts,
      dueAt: undefined,
      older: undefined,
      newer: undefined,
      recentIndex: 0,
      lease: undefined,
      keyHolder: undefined,
      waits: undefined,
      inbox: undefined,
      isSuspended: false,
      neededVersion: undefined,
      record: undefined,
    };
    this.#host.recent.add(entry);
    this.queues.index.add(entry);
    queue.admit(entry);
    queue.runs?.accept(entry);
    this.#host.journal.entry(queue, entry);
    if (envelope.receives !== undefined) this.#host.waits.keepEvents(entry, this);
    queue.stats.countReceived(now);
    return entry;
  }

  record(delivery: LeasedDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void {
    const { queue, entry } = delivery;
    delivery.release();
    if (handlerEnd !== undefined) this.#keepSlot(delivery, handlerEnd);
    const now = this.#host.clock.now();
    if (outcome.status === 'failed' && outcome.cancelled !== true) queue.deadLetters.add(entry, outcome, now);
    this.#conclude(queue, entry, outcome, now);
    if (outcome.status !== 'released') this.journal.crashes?.advanced(entry);
  }

  emit(envelopes: readonly Envelope[]): void {
    this.#host.acceptEmits(envelopes, this);
  }

  wait({ queue, entry }: LeasedDelivery, waits: readonly RunWait[]): void {
    for (const wait of waits) {
      const stored = this.#host.waits.add(wait, this, entry);
      if (stored === undefined) continue;
      if (wait.isRetry === true) queue.stats.countRetried(this.#host.clock.now());
      if (wait.delayMs !== undefined) {
        const dueAt = this.#host.clock.monotonic() + wait.delayMs;
        stored.timer = queue.addTimer(stored, dueAt);
        this.#dispatcher.serveAt(queue, dueAt);
      }
      if (wait.run !== undefined) this.#host.acceptChild(wait.run, this);
      this.#host.waits.resolveByKept(stored);
    }
    queue.stats.markChanged();
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
  }

  recorded(entry: Entry, key: string, value: string): void {
    const queue = this.queues.of(entry.envelope.type);
    queue.stats.markChanged();
    if (entry.lease !== undefined) {
      entry.lease.recorded(key, value);
      return;
    }
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
    if (entry.isSuspended) this.#resume(queue, entry);
  }

  cancelTimer({ entry, timer }: StoredWait): void {
    if (timer !== undefined) this.queues.of(entry.envelope.type).removeTimer(timer);
  }

  approvals({ entry }: StoredWait): Set<StoredWait> | undefined {
    return this.queues.of(entry.envelope.type).runs?.approvals;
  }

  /** Ends a waiting, suspended or running event of the type, and its child runs, without a dead letter. */
  endRun(type: string, entry: Entry, outcome: Outcome, reason: Error): void {
    const queue = this.queues.of(type);
    const { lease } = entry;
    if (lease !== undefined) {
      lease.release();
      lease.revoke(reason);
    } else if (entry.isSuspended) {
      entry.isSuspended = false;
      queue.stats.countSuspended(-1);
    } else {
      queue.remove(entry, this.#host.clock.monotonic());
    }
    const waits = this.#host.waits.drop(entry);
    this.#conclude(queue, entry, outcome, this.#host.clock.now(), waits);
    this.journal.crashes?.advanced(entry);
    if (outcome.status === 'failed') for (const wait of waits) this.#endChild(wait, outcome, reason);
  }

  #endChild({ wait }: StoredWait, { error }: FailedOutcome, reason: Error): void {
    if (wait.run === undefined) return;
    const { type, id } = wait.run;
    const entry = this.queues.find(type)?.runs?.entry(id);
    if (entry === undefined || entry.ended) return;
    this.endRun(
      type,
      entry,
      { status: 'failed', cancelled: true, durationMs: 0, error, followUps: wait.onCancel ?? [] },
      reason,
    );
  }

  #resume(queue: TypeQueue, entry: Entry): void {
    entry.isSuspended = false;
    this.journal.entry(queue, entry);
    queue.stats.countSuspended(-1);
    this.queues.push(queue, entry);
  }

  #suspend(queue: TypeQueue, entry: Entry, seen: number): void {
    if ((entry.checkpoints?.size ?? 0) > seen) {
      this.queues.push(queue, entry);
      return;
    }
    entry.isSuspended = true;
    this.journal.entry(queue, entry);
    queue.stats.countSuspended(1);
  }

  /** Returns an event that {@link cancel} would end. */
  findCancellable(id: string): Entry | undefined {
    const entry = this.queues.findPending(id);
    return entry === undefined || entry.lease !== undefined || entry.isSuspended ? undefined : entry;
  }

  /** Ends an event that waits; `false` if no event with this id does. */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): boolean {
    const found = this.findCancellable(id);
    const entry = found?.record?.isSpilled === true ? this.queues.of(found.envelope.type).takeSpilled(id) : found;
    if (entry === undefined) return false;
    const outcome = conclude(entry.envelope);
    this.endRun(entry.envelope.type, entry, outcome, errorOf(outcome.error));
    return true;
  }

  /** @param dropped waits of a run that were dropped before its end */
  #conclude(
    queue: TypeQueue,
    entry: Entry,
    outcome: Outcome,
    now: number,
    dropped: readonly StoredWait[] = noWaits,
  ): void {
    const { envelope, attempt } = entry;
    const { stats } = queue;
    if (outcome.status === 'suspended') {
      this.#suspend(queue, entry, outcome.seen);
      this.#dispatcher.serve(queue);
      return;
    }
    if (outcome.status === 'released') {
      if (outcome.version === undefined) this.queues.pushDelayed(queue, entry, outcome.delayMs);
      else this.#awaitVersion(queue, entry, outcome.version);
      this.#dispatcher.serve(queue);
      return;
    }
    const isCancelled = outcome.status === 'failed' && outcome.cancelled === true;
    if (!isCancelled) stats.countDuration(outcome.durationMs, now);
    if (outcome.status === 'retry') {
      if (!queue.isRun(entry)) entry.attempts = keepAttempt(entry.attempts, failedAttempt(entry, outcome, now));
      entry.attempt += 1;
      stats.countRetried(now);
      this.queues.pushDelayed(queue, entry, outcome.delayMs);
    } else {
      entry.ended = true;
      this.journal.entry(queue, entry);
      queue.forget(entry);
      this.queues.index.remove(entry);
      this.#host.recent.remove(entry);
      queue.releaseKey(entry, this.#host.clock);
      if (isCancelled) stats.countCancelled(now);
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope, attempt, outcome);
      const open = this.#host.waits.drop(entry);
      if (queue.runs !== undefined && queue.isRun(entry)) {
        this.journal.afterStored(
          queue.runs.end(envelope.id, outcome, oldestWaits(dropped === noWaits ? open : dropped), now),
        );
      } else {
        queue.log.add(entry, outcome, now);
        this.journal.log(queue);
      }
      this.#host.recordEnd(entry, outcome.followUps, this);
      this.#resolveParent(envelope, outcome);
    }
    this.#dispatcher.serve(queue);
  }

  #awaitVersion(queue: TypeQueue, entry: Entry, version: number): void {
    entry.neededVersion = version;
    this.journal.entry(queue, entry);
    queue.newer.add(entry);
    queue.stats.markChanged();
  }

  #resolveParent({ id, parent }: Envelope, outcome: Extract<Outcome, { status: 'completed' | 'failed' }>): void {
    if (parent === undefined) return;
    const end =
      outcome.status === 'completed'
        ? `"status":"completed","result":${outcome.result ?? 'null'}`
        : `"status":"failed","error":${JSON.stringify(outcome.error)}`;
    const entry = this.queues.find(parent.type)?.runs?.entry(parent.id);
    this.#host.waits.resolveByRun(entry, parent.wait, id, end);
  }

  /** Takes the slots of a delivery with an outcome until its handler returns. */
  #keepSlot(delivery: LeasedDelivery, handlerEnd: Promise<void>): void {
    const { queue, entry } = delivery;
    delivery.addOverdue();
    const freeSlot = queue.runs === undefined ? queue.holdSlot(entry) : undefined;
    void handlerEnd.then(() => {
      delivery.removeOverdue();
      freeSlot?.(this.#host.clock.monotonic());
      this.#dispatcher.serve(queue);
    });
  }
}

/** Consumers of one service: opens, drains and removes them, and puts their subscriptions in effect. */
class GroupMembers {
  readonly #host: GroupHost;
  readonly #queues: QueuesByType;
  readonly #dispatcher: Dispatcher;
  readonly #setTrigger: (subscription: Subscription) => void;

  /** @param setTrigger sets the trigger of a subscription in place of the former one of its type */
  constructor(
    host: GroupHost,
    queues: QueuesByType,
    dispatcher: Dispatcher,
    setTrigger: (subscription: Subscription) => void,
  ) {
    this.#host = host;
    this.#queues = queues;
    this.#dispatcher = dispatcher;
    this.#setTrigger = setTrigger;
  }

  open(options: ConsumeOptions): ConsumerSlots {
    const consumer = new ConsumerSlots(options);
    this.#dispatcher.add(consumer);
    for (const subscription of options.subscriptions) this.apply(subscription);
    this.#dispatcher.serveAll(this.#queues.all());
    return consumer;
  }

  /** A consumer handles the type. */
  handles(type: string): boolean {
    return this.#dispatcher.handles(type);
  }

  /** Makes a subscription's settings those of its type, for the backlog too. */
  apply(subscription: Subscription): void {
    const { type } = subscription;
    const running = (): Entry[] =>
      this.#dispatcher.running().flatMap(({ queue, entry }) => (queue.type === type ? entry : []));
    this.#queues.of(type).subscribe(subscription, running);
    this.#setTrigger(subscription);
  }

  /** Drains and removes the consumer. */
  close(consumer: ConsumerSlots, drainMs: number): Promise<CloseResult> {
    const { clock, journal } = this.#host;
    const deadline = clock.monotonic() + drainMs;
    // After the outcomes that are about to be stored; while the storage fails, those are left to the next process.
    const remove = async (): Promise<CloseResult> =>
      journal.isStored ? journal.settle(() => this.#remove(consumer)) : this.#remove(consumer);
    if (drainMs === 0 || this.#isDrained(consumer, deadline)) return remove();
    return new Promise((resolve) => {
      const finish = (): void => {
        consumer.onRound = () => {};
        timer.cancel();
        resolve(remove());
      };
      const timer = clock.after(drainMs, finish);
      consumer.onRound = () => {
        if (this.#isDrained(consumer, deadline)) finish();
      };
    });
  }

  #isDrained(consumer: ConsumerSlots, deadline: number): boolean {
    if (consumer.isRunning) return false;
    return [...this.#queues.all()].every((queue) => {
      const { type, hasWaiting, nextDueAt } = queue;
      if (!consumer.handles.has(type) || this.#dispatcher.isHandledByOthers(consumer, type)) return true;
      return !hasWaiting && (nextDueAt === undefined || nextDueAt > deadline);
    });
  }

  #remove(consumer: ConsumerSlots): CloseResult {
    this.#dispatcher.remove(consumer);
    for (const type of consumer.handles.keys()) {
      // The settings of the last consumer that handled a type stay in effect.
      const subscription = this.#dispatcher.latestSubscription(type);
      if (subscription !== undefined && subscription !== this.#queues.of(type).subscription) this.apply(subscription);
    }
    this.#dispatcher.serveAll(this.#queues.all());
    // Last started first, each to the front, restores the order of the queue.
    const { clock, journal } = this.#host;
    const running = consumer.running().reverse();
    for (const delivery of running) {
      delivery.release();
      noteInterruption(delivery.entry, clock.now());
      journal.entry(delivery.queue, delivery.entry);
      delivery.queue.unshift(delivery.entry);
      this.#dispatcher.serve(delivery.queue);
    }
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return { released: running.length, overdue: consumer.overdue };
  }
}

/** Queues of one service by type. The dispatcher serves a queue to which an entry is added. */
class QueuesByType {
  readonly index: PendingIndex;
  readonly #service: string;
  readonly #host: GroupHost;
  readonly #dispatcher: Dispatcher;
  readonly #byType = new Map<string, TypeQueue>();

  constructor(service: string, host: GroupHost, dispatcher: Dispatcher) {
    this.#service = service;
    this.#host = host;
    this.#dispatcher = dispatcher;
    this.index = new PendingIndex(() => this.#pending());
  }

  /** Returns the queue of a type, which is created if it does not exist. */
  of(type: string): TypeQueue {
    let queue = this.#byType.get(type);
    if (queue === undefined) {
      queue = this.#create(type);
      this.#byType.set(type, queue);
    }
    return queue;
  }

  /** Returns the queue of a type; `undefined` if the service never handled or published the type. */
  find(type: string): TypeQueue | undefined {
    return this.#byType.get(type);
  }

  /** Queues of all types that the service ever handled or published. */
  all(): Iterable<TypeQueue> {
    return this.#byType.values();
  }

  /** Returns the queue with a dead letter. */
  findByDeadLetter(id: string): TypeQueue | undefined {
    for (const queue of this.#byType.values()) if (queue.deadLetters.find(id) !== undefined) return queue;
    return undefined;
  }

  /** Returns a pending entry that is in memory or spilled. */
  findPending(id: string): Entry | undefined {
    const entry = this.index.find(id);
    if (entry !== undefined) return entry;
    for (const { reader } of this.#byType.values()) {
      const [spilled] = reader.findSpilled({ id });
      if (spilled !== undefined) return spilled;
    }
    return undefined;
  }

  push(queue: TypeQueue, entry: Entry): void {
    queue.push(entry);
    this.#dispatcher.serve(queue);
  }

  /** Adds an entry that waits for a delay in milliseconds. */
  pushDelayed(queue: TypeQueue, entry: Entry, delayMs: number): void {
    this.pushUntil(queue, entry, this.#host.clock.monotonic() + delayMs);
  }

  /** Adds an entry that waits until a monotonic time. */
  pushUntil(queue: TypeQueue, entry: Entry, dueAt: number): void {
    this.#host.journal.entry(queue, entry);
    queue.delayed.push(entry, dueAt);
    this.#dispatcher.serveAt(queue, dueAt);
  }

  #create(type: string): TypeQueue {
    const { waits, journal } = this.#host;
    const onDue = (wait: StoredWait): void => journal.settleLater(() => waits.resolveByTime(wait));
    const queue: TypeQueue = new TypeQueue(
      this.#service,
      type,
      this.#host,
      this.#host.statistics.history(type),
      onDue,
      {
        left: (entry) => this.index.remove(entry),
        entered: (entry) => this.index.add(entry),
        ready: () => this.#dispatcher.serveAt(queue, queue.nextWakeAt),
      },
    );
    return queue;
  }

  *#pending(): Iterable<Entry> {
    for (const queue of this.#byType.values()) yield* queue.pending();
    for (const { entry } of this.#dispatcher.running()) yield entry;
  }
}

/** Pending entries of a group in memory by id. */
class PendingIndex {
  // Built by the first lookup: an index of all pending events costs more than those that never cancel should pay.
  #byId: Map<string, Entry> | undefined;
  readonly #entries: () => Iterable<Entry>;

  /** @param entries returns all pending entries in memory */
  constructor(entries: () => Iterable<Entry>) {
    this.#entries = entries;
  }

  /** A lookup has built the index, so that the next one costs little. */
  get isBuilt(): boolean {
    return this.#byId !== undefined;
  }

  find(id: string): Entry | undefined {
    this.#byId ??= new Map(Array.from(this.#entries(), (entry) => [entry.envelope.id, entry]));
    return this.#byId.get(id);
  }

  add(entry: Entry): void {
    this.#byId?.set(entry.envelope.id, entry);
  }

  remove({ envelope: { id } }: Entry): void {
    this.#byId?.delete(id);
  }
}
