import { errorOf, ShutdownError } from '../errors.js';
import { type AttemptRecord, keepAttempt } from '../event-record.js';
import type {
  CloseResult,
  ConsumeOptions,
  Envelope,
  FailedOutcome,
  Outcome,
  RunWait,
  Subscription,
} from '../transport.js';
import { Dispatcher } from './dispatcher.js';
import { GroupConsumer } from './group-consumer.js';
import type { MemoryDelivery, OutcomeSink } from './memory-delivery.js';
import type { RememberedId } from './records/dedupe-window.js';
import type { Entry, StoredWait, WaitOwner } from './records/entry.js';
import { failedAttempt } from './records/event-log.js';
import type { Journal } from './records/journal.js';
import type { PeriodHistory } from './records/period-history.js';
import type { RunWaits } from './records/run-waits.js';
import { type QueueHost, TypeQueue } from './type-queue/type-queue.js';

const noAttempts: readonly AttemptRecord[] = [];

/** The part of the broker that a consumer group uses. */
export interface GroupHost extends QueueHost {
  readonly waits: RunWaits;
  /** Returns the history of a type, which all services share. */
  history(type: string): PeriodHistory;
  /** Counts one event as no longer pending and accepts its follow-ups. */
  recordEnd(entry: Entry, followUps: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts the events that a step emitted. */
  acceptEmits(envelopes: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts a child run for the group alone. */
  acceptChild(envelope: Envelope, group: ConsumerGroup): void;
  /** Counts a pending payload that was replaced by a larger or smaller one. */
  recordResize(addedBytes: number): void;
  /** Sets the trigger of a subscription in place of the former one of its type. */
  setTrigger(group: ConsumerGroup, subscription: Subscription): void;
}

/** All hubs of one service: accepts events for them and records the outcomes. */
export class ConsumerGroup implements OutcomeSink, WaitOwner {
  readonly service: string;
  readonly journal: Journal;
  readonly #host: GroupHost;
  readonly #queues = new Map<string, TypeQueue>();
  readonly #dispatcher: Dispatcher;
  // Built by the first cancellation: an index of all pending events costs more than those that never cancel should pay.
  #byId: Map<string, Entry> | undefined;

  constructor(service: string, host: GroupHost) {
    this.service = service;
    this.journal = host.journal;
    this.#host = host;
    this.#dispatcher = new Dispatcher(host.clock, this);
  }

  queue(type: string): TypeQueue {
    let queue = this.#queues.get(type);
    if (queue === undefined) {
      const { waits, journal } = this.#host;
      const onDue = (wait: StoredWait): void => journal.settleLater(() => waits.resolveByTime(wait));
      const created: TypeQueue = new TypeQueue(this.service, type, this.#host, this.#host.history(type), onDue, {
        left: ({ envelope: { id } }) => this.#byId?.delete(id),
        entered: (entry) => this.#byId?.set(entry.envelope.id, entry),
        ready: () => this.#dispatcher.serveAt(created, created.nextWakeAt),
      });
      queue = created;
      this.#queues.set(type, queue);
    }
    return queue;
  }

  /** Queues of all types that the service ever handled or published. */
  queues(): Iterable<TypeQueue> {
    return this.#queues.values();
  }

  /** Returns the type's queue; `undefined` if the service never handled or published the type. */
  findQueue(type: string): TypeQueue | undefined {
    return this.#queues.get(type);
  }

  open(options: ConsumeOptions): GroupConsumer {
    const consumer = new GroupConsumer(options);
    this.#dispatcher.add(consumer);
    for (const subscription of options.subscriptions) this.#apply(subscription);
    this.#dispatcher.serveAll(this.#queues.values());
    return consumer;
  }

  /** A connection of the group handles the type. */
  handles(type: string): boolean {
    return this.#dispatcher.handles(type);
  }

  /** Makes a subscription's settings those of its type, for the backlog too. */
  #apply(subscription: Subscription): void {
    const { type } = subscription;
    const running = (): Entry[] => this.#dispatcher.running().filter(({ envelope }) => envelope.type === type);
    this.queue(type).subscribe(subscription, running);
    this.#host.setTrigger(this, subscription);
  }

  /** Drains and removes the consumer. */
  close(consumer: GroupConsumer, drainMs: number): Promise<CloseResult> {
    const { clock } = this.#host;
    const deadline = clock.monotonic() + drainMs;
    // After the outcomes that are about to be stored; while the storage fails, those are left to the next process.
    const remove = async (): Promise<CloseResult> =>
      this.journal.isStored ? this.journal.settle(() => this.#remove(consumer)) : this.#remove(consumer);
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

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, bytes: number, now: number, remembered?: RememberedId): string | undefined {
    const queue = this.queue(envelope.type);
    const { clock } = this.#host;
    const debounced = queue.delayed.debounce(envelope, clock);
    if (debounced !== undefined) {
      this.#host.recordResize(bytes - debounced.entry.bytes);
      debounced.entry.bytes = bytes;
      this.journal.entry(queue, debounced.entry);
      this.#dispatcher.serveAt(queue, debounced.dueAt);
      return debounced.entry.envelope.id;
    }
    const entry = this.#admit(queue, { envelope, bytes, remembered, checkpoints: undefined }, now);
    const windowEnd = queue.delayed.openWindow(entry, clock);
    if (windowEnd !== undefined) this.#enqueueUntil(queue, entry, windowEnd);
    else if (envelope.delayMs > 0) this.#enqueueDelayed(queue, entry, envelope.delayMs);
    else this.#enqueue(queue, entry);
    return undefined;
  }

  /** Makes the settings of a stored subscription those of its type. */
  restoreSettings(subscription: Subscription): void {
    this.#apply(subscription);
  }

  /** Adds a stored entry that has not ended. Its type has its settings already. */
  restore(entry: Entry, isDebounced: boolean): void {
    const { clock } = this.#host;
    const queue = this.queue(entry.envelope.type);
    queue.admit(entry);
    queue.runs?.accept(entry);
    if (isDebounced) queue.delayed.restoreWindow(entry, clock.monotonic() - (clock.now() - entry.acceptedAt));
    if (entry.hasStarted) queue.holdKey(entry);
    if (entry.isSuspended) queue.stats.countSuspended(1);
    else if (entry.dueAt !== undefined) queue.delayed.push(entry, entry.dueAt);
    else queue.restoreWaiting(entry);
  }

  /** Adds a stored wait of a restored entry. */
  restoreWait(stored: StoredWait): void {
    const { clock, waits } = this.#host;
    const { wait, since, entry } = stored;
    waits.restore(stored);
    if (wait.delayMs === undefined) return;
    const dueAt = clock.monotonic() + since + wait.delayMs - clock.now();
    stored.timer = this.queue(entry.envelope.type).addTimer(stored, dueAt);
  }

  /** Returns `true` if `accept` would debounce the event, so that it needs no room. */
  debounces(envelope: Envelope): boolean {
    return this.findQueue(envelope.type)?.delayed.hasWindow(envelope) === true;
  }

  findDeadLetter(id: string): Entry | undefined {
    return this.#queueOfDeadLetter(id)?.deadLetters.find(id);
  }

  /** Accepts the event of a dead letter again, without the delay that it had when it was new. */
  replay(id: string, now: number): void {
    const queue = this.#queueOfDeadLetter(id);
    const dead = queue?.deadLetters.take(id);
    if (queue === undefined || dead === undefined) return;
    const { bytes, checkpoints } = dead;
    queue.log.forget(id);
    this.journal.log(queue);
    const envelope = { ...dead.envelope, replays: dead.envelope.replays + 1 };
    this.#enqueue(queue, this.#admit(queue, { envelope, bytes, remembered: undefined, checkpoints }, now));
  }

  record(delivery: MemoryDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void {
    const { queue, entry } = delivery;
    delivery.release();
    if (handlerEnd !== undefined) this.#keepSlot(delivery, handlerEnd);
    const now = this.#host.clock.now();
    if (outcome.status === 'failed' && outcome.cancelled !== true) queue.deadLetters.add(entry, outcome, now);
    this.#conclude(queue, entry, outcome, now);
  }

  emit(envelopes: readonly Envelope[]): void {
    this.#host.acceptEmits(envelopes, this);
  }

  wait({ queue, entry }: MemoryDelivery, waits: readonly RunWait[]): void {
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
    }
    queue.stats.markChanged();
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
  }

  recorded(entry: Entry, key: string, value: string): void {
    const queue = this.queue(entry.envelope.type);
    queue.stats.markChanged();
    if (entry.lease !== undefined) {
      entry.lease.recorded(key, value);
      return;
    }
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
    if (entry.isSuspended) this.#resume(queue, entry);
  }

  cancelTimer({ entry, timer }: StoredWait): void {
    if (timer !== undefined) this.queue(entry.envelope.type).removeTimer(timer);
  }

  approvals({ entry }: StoredWait): Set<StoredWait> | undefined {
    return this.queue(entry.envelope.type).runs?.approvals;
  }

  /** Ends a waiting, suspended or running event of the type, and its child runs, without a dead letter. */
  endRun(type: string, entry: Entry, outcome: Outcome, reason: Error): void {
    const queue = this.queue(type);
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
    this.#conclude(queue, entry, outcome);
    if (outcome.status === 'failed') for (const wait of waits) this.#endChild(wait, outcome, reason);
  }

  #endChild({ wait }: StoredWait, { error }: FailedOutcome, reason: Error): void {
    if (wait.run === undefined) return;
    const { type, id } = wait.run;
    const entry = this.#queues.get(type)?.runs?.entry(id);
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
    this.#enqueue(queue, entry);
  }

  #suspend(queue: TypeQueue, entry: Entry, seen: number): void {
    if ((entry.checkpoints?.size ?? 0) > seen) {
      this.#enqueue(queue, entry);
      return;
    }
    entry.isSuspended = true;
    this.journal.entry(queue, entry);
    queue.stats.countSuspended(1);
  }

  /** Returns an event that {@link cancel} would end. */
  findCancellable(id: string): Entry | undefined {
    const entry = this.#pendingById().get(id) ?? this.#findSpilled(id);
    return entry === undefined || entry.lease !== undefined || entry.isSuspended ? undefined : entry;
  }

  /** Ends an event that waits; `false` if no event with this id does. */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): boolean {
    const found = this.findCancellable(id);
    const entry = found?.record?.isSpilled === true ? this.queue(found.envelope.type).takeSpilled(id) : found;
    if (entry === undefined) return false;
    const outcome = conclude(entry.envelope);
    this.endRun(entry.envelope.type, entry, outcome, errorOf(outcome.error));
    return true;
  }

  #pendingById(): Map<string, Entry> {
    if (this.#byId !== undefined) return this.#byId;
    this.#byId = new Map();
    const running = this.#dispatcher.running();
    const waiting = [...this.#queues.values()].flatMap((queue) => [...queue.pending()]);
    for (const entry of [...waiting, ...running]) this.#byId.set(entry.envelope.id, entry);
    return this.#byId;
  }

  #findSpilled(id: string): Entry | undefined {
    for (const { reader } of this.#queues.values()) {
      const [entry] = reader.findSpilled({ id });
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #queueOfDeadLetter(id: string): TypeQueue | undefined {
    for (const queue of this.#queues.values()) if (queue.deadLetters.find(id) !== undefined) return queue;
    return undefined;
  }

  #conclude(queue: TypeQueue, entry: Entry, outcome: Outcome, now: number = this.#host.clock.now()): void {
    const { envelope, attempt } = entry;
    const { stats } = queue;
    if (outcome.status === 'suspended') {
      this.#suspend(queue, entry, outcome.seen);
      this.#dispatcher.serve(queue);
      return;
    }
    if (outcome.status === 'released') {
      this.#enqueueDelayed(queue, entry, outcome.delayMs);
      this.#dispatcher.serve(queue);
      return;
    }
    const isCancelled = outcome.status === 'failed' && outcome.cancelled === true;
    if (!isCancelled) stats.countDuration(outcome.durationMs, now);
    if (outcome.status === 'retry') {
      if (!queue.isRun(entry)) entry.attempts = keepAttempt(entry.attempts, failedAttempt(entry, outcome, now));
      entry.attempt += 1;
      stats.countRetried(now);
      this.#enqueueDelayed(queue, entry, outcome.delayMs);
    } else {
      entry.ended = true;
      this.journal.entry(queue, entry);
      queue.forget(entry);
      this.#byId?.delete(envelope.id);
      queue.releaseKey(entry, this.#host.clock);
      if (isCancelled) stats.countCancelled(now);
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope, attempt, outcome);
      this.#host.waits.drop(entry);
      if (queue.runs !== undefined && queue.isRun(entry)) {
        this.journal.afterStored(queue.runs.end(envelope.id, outcome, now));
      } else {
        queue.log.add(entry, outcome, now);
        this.journal.log(queue);
      }
      this.#host.recordEnd(entry, outcome.followUps, this);
      this.#resolveParent(envelope, outcome);
    }
    this.#dispatcher.serve(queue);
  }

  #resolveParent({ id, parent }: Envelope, outcome: Extract<Outcome, { status: 'completed' | 'failed' }>): void {
    if (parent === undefined) return;
    const end =
      outcome.status === 'completed'
        ? `"status":"completed","result":${outcome.result ?? 'null'}`
        : `"status":"failed","error":${JSON.stringify(outcome.error)}`;
    const entry = this.#queues.get(parent.type)?.runs?.entry(parent.id);
    this.#host.waits.resolveByRun(entry, parent.wait, id, end);
  }

  /** Takes the slots of a delivery with an outcome until its handler returns. */
  #keepSlot(delivery: MemoryDelivery, handlerEnd: Promise<void>): void {
    const { queue, entry } = delivery;
    delivery.addOverdue();
    const freeSlot = queue.holdSlot(entry);
    void handlerEnd.then(() => {
      delivery.removeOverdue();
      freeSlot(this.#host.clock.monotonic());
      this.#dispatcher.serve(queue);
    });
  }

  #enqueue(queue: TypeQueue, entry: Entry): void {
    queue.push(entry);
    this.#dispatcher.serve(queue);
  }

  #enqueueDelayed(queue: TypeQueue, entry: Entry, delayMs: number): void {
    this.#enqueueUntil(queue, entry, this.#host.clock.monotonic() + delayMs);
  }

  #enqueueUntil(queue: TypeQueue, entry: Entry, dueAt: number): void {
    this.journal.entry(queue, entry);
    queue.delayed.push(entry, dueAt);
    this.#dispatcher.serveAt(queue, dueAt);
  }

  #isDrained(consumer: GroupConsumer, deadline: number): boolean {
    if (consumer.isRunning) return false;
    return [...this.#queues.values()].every((queue) => {
      const { type, hasWaiting, nextDueAt } = queue;
      if (!consumer.handles.has(type) || this.#dispatcher.isHandledByOthers(consumer, type)) return true;
      return !hasWaiting && (nextDueAt === undefined || nextDueAt > deadline);
    });
  }

  #remove(consumer: GroupConsumer): CloseResult {
    this.#dispatcher.remove(consumer);
    for (const type of consumer.handles.keys()) {
      // The settings of the last consumer that handled a type stay in effect.
      const subscription = this.#dispatcher.latestSubscription(type);
      if (subscription !== undefined && subscription !== this.queue(type).subscription) this.#apply(subscription);
    }
    this.#dispatcher.serveAll(this.#queues.values());
    // Last started first, each to the front, restores the order of the queue.
    const running = consumer.running().reverse();
    for (const delivery of running) {
      delivery.release();
      delivery.queue.unshift(delivery.entry);
      this.#dispatcher.serve(delivery.queue);
    }
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return { released: running.length, overdue: consumer.overdue };
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
      lease: undefined,
      keyHolder: undefined,
      waits: undefined,
      isSuspended: false,
      record: undefined,
    };
    this.#byId?.set(envelope.id, entry);
    queue.admit(entry);
    queue.runs?.accept(entry);
    this.journal.entry(queue, entry);
    queue.stats.countReceived(now);
    return entry;
  }
}
