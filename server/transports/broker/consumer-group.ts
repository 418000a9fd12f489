import type {
  CommitResult,
  Envelope,
  FailedOutcome,
  Offer,
  Outcome,
  RunWait,
  Subscription,
  Verdict,
} from '../delivery.js';
import { errorOf, ShutdownError } from '../errors.js';
import { type AttemptRecord, keepAttempt } from '../event-record.js';
import type { CloseResult, ConsumeOptions, DroppedEvent, PausedTypes } from '../transport.js';
import type { RememberedId } from './dedupe-window.js';
import { ConsumerSlots, Dispatcher, type LeasedDelivery, type OutcomeSink } from './dispatcher.js';
import {
  type Entry,
  failedAttempt,
  type Lease,
  noteInterruption,
  type RecentEntries,
  type StoredWait,
  type WaitOwner,
} from './entry.js';
import type { Journal } from './journal.js';
import { QueuesByType, type QueuesHost } from './queues-by-type.js';
import { offersOf, oldestWaits } from './run-waits.js';
import type { TurnBudget } from './turn-budget.js';
import type { TypeQueue } from './type-queue.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost extends QueuesHost {
  readonly recent: RecentEntries;
  readonly turns: TurnBudget;
  readonly pending: {
    /** Counts a payload that replaced another one. */
    resize(addedBytes: number): void;
  };
  readonly routes: {
    /** Sets the triggers of a subscription in place of the former ones of its type. */
    setTriggers(group: ConsumerGroup, subscription: Subscription): void;
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
    this.members = new GroupMembers(host, this.queues, this.#dispatcher, (each) => host.routes.setTriggers(this, each));
  }

  /** Returns the deliveries that are running. */
  running(): readonly LeasedDelivery[] {
    return this.#dispatcher.running();
  }

  /** Starts nothing of some types, until another call names others. */
  pause(paused: PausedTypes): void {
    if (this.queues.pause(paused)) this.#dispatcher.serveAll(this.queues.all());
  }

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, bytes: number, now: number, remembered?: RememberedId): string | undefined {
    const queue = this.queues.of(envelope.type);
    const { clock, journal } = this.#host;
    const { recorded } = envelope;
    if (recorded !== undefined) {
      const accepted = { ...envelope, body: envelope.body, recorded: undefined };
      this.queues.push(
        queue,
        this.#admit(queue, { envelope: accepted, bytes, remembered, checkpoints: new Map(recorded) }, now),
      );
      return undefined;
    }
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
  replay(id: string, now: number, remembered: RememberedId | undefined): void {
    const queue = this.queues.findByDeadLetter(id);
    const dead = queue?.deadLetters.take(id);
    if (queue === undefined || dead === undefined) return;
    const { bytes, checkpoints, envelope, isAdmitted } = dead;
    queue.log.forget(id);
    this.#host.journal.log(queue);
    const replayed = { ...envelope, body: envelope.body, replays: envelope.replays + 1 };
    const entry = this.#admit(queue, { envelope: replayed, bytes, remembered, checkpoints, isAdmitted }, now);
    this.queues.push(queue, entry);
  }

  #admit(
    queue: TypeQueue,
    {
      envelope,
      bytes,
      remembered,
      checkpoints,
      isAdmitted,
    }: Pick<Entry, 'envelope' | 'bytes' | 'remembered' | 'checkpoints'> & Partial<Pick<Entry, 'isAdmitted'>>,
    now: number,
  ): Entry {
    // Written out: a spread made every accepted event measurably slower.
    const entry: Entry = {
      envelope,
      bytes,
      remembered,
      checkpoints: checkpoints ?? (queue.runs === undefined ? undefined : new Map()),
      attempt: 1,
      isAdmitted: isAdmitted ?? false,
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
    if (envelope.receives !== undefined || envelope.cancelOn !== undefined) this.#host.waits.keepEvents(entry, this);
    queue.stats.countReceived(now);
    return entry;
  }

  record(delivery: LeasedDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void {
    const { queue, entry } = delivery;
    delivery.release();
    // The own retry of a run needs the slots of its type and its key.
    const ofType = queue.runs === undefined ? 'and of its type' : undefined;
    if (handlerEnd !== undefined) this.#keepSlot(queue, entry, delivery, handlerEnd, ofType);
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
      this.#host.waits.settle(entry);
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

  offered(entry: Entry): void {
    const queue = this.queues.of(entry.envelope.type);
    if (entry.lease !== undefined) entry.lease.offered();
    else if (entry.isSuspended) this.#resume(queue, entry);
    else if (entry.dueAt !== undefined && offersOf(entry).some(isCancellation)) {
      // It need not wait for its delay.
      queue.delayed.remove(entry);
      this.journal.entry(queue, entry);
      this.queues.push(queue, entry);
    }
  }

  dropped(event: DroppedEvent): boolean {
    const consumer = this.#dispatcher.consumerOf(event.runType);
    this.journal.afterStored(() => consumer?.dropped(event));
    return consumer !== undefined;
  }

  decide({ entry }: LeasedDelivery, offer: Offer, verdict: Verdict): CommitResult {
    return this.#host.waits.decide(entry, offer, verdict);
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
      this.#keepSlot(queue, entry, lease, lease.revoke(reason), 'and of its type');
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
    if ((entry.checkpoints?.size ?? 0) > seen || offersOf(entry).length > 0) {
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
    if (entry === undefined || entry.isSuspended) return undefined;
    // `endRun` ends a run that runs.
    return entry.lease !== undefined && this.queues.of(entry.envelope.type).isRun(entry) ? undefined : entry;
  }

  /** Ends an event; `false` if there is none with this id to cancel. */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): boolean {
    const found = this.findCancellable(id);
    const entry = found?.record?.isSpilled === true ? this.queues.of(found.envelope.type).takeSpilled(id) : found;
    if (entry === undefined) return false;
    const outcome = conclude(entry.envelope);
    this.endRun(entry.envelope.type, entry, outcome, errorOf(outcome.error));
    return true;
  }

  /** Ends an event of a type in any state, and its child runs, if it is pending. */
  endPending(type: string, id: string, outcome: FailedOutcome): void {
    const found = this.queues.find(type) && this.queues.findPending(id);
    if (found === undefined || found.envelope.type !== type) return;
    const entry = found.record?.isSpilled === true ? this.queues.of(type).takeSpilled(id) : found;
    if (entry !== undefined) this.endRun(type, entry, outcome, errorOf(outcome.error));
  }

  /** Completes an event that waits and that nothing handles. */
  completeUnhandled(entry: Entry): void {
    const queue = this.queues.of(entry.envelope.type);
    const found = entry.record?.isSpilled === true ? queue.takeSpilled(entry.envelope.id) : entry;
    if (found === undefined) return;
    queue.remove(found, this.#host.clock.monotonic());
    this.#conclude(queue, found, { status: 'completed', durationMs: 0, followUps: [] }, this.#host.clock.now());
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
    const isFiltered = outcome.status === 'completed' && outcome.filtered === true;
    if (isFiltered) this.#takeBackStart(queue, entry, now);
    else if (!isCancelled && entry.hasStarted) stats.countDuration(outcome.durationMs, now);
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
      else if (isFiltered) stats.countFiltered(now);
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope, attempt, outcome);
      const open = this.#host.waits.drop(entry);
      const runs = queue.isRun(entry) ? queue.runs : undefined;
      if (runs !== undefined) {
        this.journal.afterStored(
          runs.end(envelope.id, outcome, oldestWaits(dropped === noWaits ? open : dropped), now),
        );
      }
      if (runs === undefined || isFiltered) {
        queue.log.add(entry, outcome, now);
        this.journal.log(queue);
      }
      this.#host.recordEnd(entry, outcome.followUps, this);
      this.#resolveParent(envelope, outcome);
    }
    this.#dispatcher.serve(queue);
  }

  /** Takes back the start of a rate that an event used which its service refused. */
  #takeBackStart(queue: TypeQueue, entry: Entry, now: number): void {
    const counted = queue.takeBackStart(entry, now);
    if (counted.length > 0) this.journal.starts(queue, counted, () => this.#dispatcher.serve(queue));
  }

  #awaitVersion(queue: TypeQueue, entry: Entry, version: number): void {
    entry.neededVersion = version;
    this.journal.entry(queue, entry);
    queue.awaitVersion(entry);
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

  /** Takes the slot of the consumer for an attempt with an outcome until its handler returns. */
  #keepSlot(
    queue: TypeQueue,
    entry: Entry,
    lease: Lease,
    handlerEnd: Promise<void>,
    ofType: 'and of its type' | undefined,
  ): void {
    lease.addOverdue();
    const freeSlot = ofType && queue.holdSlot(entry);
    void handlerEnd.then(() => {
      lease.removeOverdue();
      freeSlot?.(this.#host.clock.monotonic());
      this.#dispatcher.serve(queue);
    });
  }
}

/** The event cancels the run, and nothing is left to decide. */
function isCancellation({ wait, isJudged }: Offer): boolean {
  return wait === undefined && !isJudged;
}

/** Consumers of one service: opens, drains and removes them, and puts their subscriptions in effect. */
class GroupMembers {
  readonly #host: GroupHost;
  readonly #queues: QueuesByType;
  readonly #dispatcher: Dispatcher;
  readonly #setTriggers: (subscription: Subscription) => void;

  /** @param setTriggers sets the triggers of a subscription in place of the former ones of its type */
  constructor(
    host: GroupHost,
    queues: QueuesByType,
    dispatcher: Dispatcher,
    setTriggers: (subscription: Subscription) => void,
  ) {
    this.#host = host;
    this.#queues = queues;
    this.#dispatcher = dispatcher;
    this.#setTriggers = setTriggers;
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
    this.#setTriggers(subscription);
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
      const { type, isPaused, hasWaiting, nextDueAt } = queue;
      if (isPaused || !consumer.handles.has(type) || this.#dispatcher.isHandledByOthers(consumer, type)) return true;
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
    for (const delivery of running) void delivery.revoke(new ShutdownError());
    return { released: running.length, overdue: consumer.overdue };
  }
}
