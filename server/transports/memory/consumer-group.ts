import type { Clock } from '../clock.js';
import { ShutdownError } from '../errors.js';
import type { ConsumeOptions, Envelope, Outcome, RunWait } from '../transport.js';
import { Dispatcher } from './dispatcher.js';
import type { Entry, StoredWait, WaitOwner } from './entry.js';
import { GroupConsumer } from './group-consumer.js';
import type { MemoryDelivery, OutcomeSink } from './memory-delivery.js';
import type { RevisionCounter } from './revision-counter.js';
import type { RunWaits } from './run-waits.js';
import { TypeQueue } from './type-queue.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost {
  readonly clock: Clock;
  readonly maxDeadLetters: number;
  readonly revision: RevisionCounter;
  readonly waits: RunWaits;
  /** Counts one event as no longer pending and accepts its follow-ups. */
  recordEnd(followUps: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts the events that a step emitted. */
  acceptEmits(envelopes: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts a child run for the group alone. */
  acceptChild(envelope: Envelope, group: ConsumerGroup): void;
}

/** All hubs of one service: accepts events for them and records the outcomes. */
export class ConsumerGroup implements OutcomeSink, WaitOwner {
  readonly service: string;
  readonly #host: GroupHost;
  readonly #queues = new Map<string, TypeQueue>();
  readonly #dispatcher: Dispatcher;
  // Built by the first cancellation: an index of all pending events costs more than those that never cancel should pay.
  #byId: Map<string, Entry> | undefined;

  constructor(service: string, host: GroupHost) {
    this.service = service;
    this.#host = host;
    this.#dispatcher = new Dispatcher(host.clock, this);
  }

  queue(type: string): TypeQueue {
    let queue = this.#queues.get(type);
    if (queue === undefined) {
      queue = new TypeQueue(type, this.#host.maxDeadLetters, this.#host.revision, (wait) =>
        this.#host.waits.resolveByTime(wait),
      );
      this.#queues.set(type, queue);
    }
    return queue;
  }

  /** Returns the type's queue; `undefined` if the service never handled or published the type. */
  findQueue(type: string): TypeQueue | undefined {
    return this.#queues.get(type);
  }

  open(options: ConsumeOptions): GroupConsumer {
    for (const subscription of options.subscriptions) this.queue(subscription.type).subscribe(subscription);
    const consumer = new GroupConsumer(options);
    this.#dispatcher.add(consumer, this.#queues.values());
    return consumer;
  }

  /** Drains and removes the consumer. Resolves with the number of deliveries that were released. */
  close(consumer: GroupConsumer, drainMs: number): Promise<number> {
    const { clock } = this.#host;
    const deadline = clock.monotonic() + drainMs;
    if (drainMs === 0 || this.#isDrained(consumer, deadline)) return Promise.resolve(this.#remove(consumer));
    return new Promise((resolve) => {
      const finish = (): void => {
        timer.cancel();
        resolve(this.#remove(consumer));
      };
      const timer = clock.after(drainMs, finish);
      consumer.onRound = () => {
        if (this.#isDrained(consumer, deadline)) finish();
      };
    });
  }

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, now: number): string | undefined {
    const queue = this.queue(envelope.type);
    const monotonic = this.#host.clock.monotonic();
    const debounced = queue.debounce(envelope, monotonic);
    if (debounced !== undefined) {
      this.#dispatcher.serveAt(queue, debounced.dueAt);
      return debounced.entry.envelope.id;
    }
    const entry = this.#admit(queue, envelope, queue.runs === undefined ? undefined : new Map(), now);
    const windowEnd = queue.openWindow(entry, monotonic);
    if (windowEnd !== undefined) this.#enqueueDelayed(queue, entry, windowEnd - monotonic);
    else if (envelope.delayMs > 0) this.#enqueueDelayed(queue, entry, envelope.delayMs);
    else this.#enqueue(queue, entry);
    return undefined;
  }

  /** Returns whether `accept` would debounce the event, so that it needs no room. */
  debounces(envelope: Envelope): boolean {
    return this.findQueue(envelope.type)?.hasWindow(envelope) === true;
  }

  hasDeadLetter(id: string): boolean {
    return this.#queueOfDeadLetter(id) !== undefined;
  }

  /** Accepts the event of a dead letter again, without the delay that it had when it was new. */
  replay(id: string, now: number): void {
    const queue = this.#queueOfDeadLetter(id);
    const dead = queue?.deadLetters.take(id);
    if (queue === undefined || dead === undefined) return;
    const { envelope, checkpoints } = dead;
    this.#enqueue(queue, this.#admit(queue, { ...envelope, replays: envelope.replays + 1 }, checkpoints, now));
  }

  record(delivery: MemoryDelivery, outcome: Outcome): void {
    const { queue, entry } = delivery;
    delivery.release();
    if (outcome.status === 'failed' && outcome.cancelled !== true)
      queue.deadLetters.add(entry, outcome.error, this.#host.clock.now());
    this.#conclude(queue, entry, outcome);
  }

  emit(envelopes: readonly Envelope[]): void {
    this.#host.acceptEmits(envelopes, this);
  }

  wait({ queue, entry }: MemoryDelivery, waits: readonly RunWait[]): void {
    for (const wait of waits) {
      const stored = this.#host.waits.add(wait, this, entry);
      if (stored === undefined) continue;
      if (wait.isRetry === true) queue.stats.countRetried();
      if (wait.delayMs !== undefined) {
        const dueAt = this.#host.clock.monotonic() + wait.delayMs;
        stored.timer = queue.addTimer(stored, dueAt);
        this.#dispatcher.serveAt(queue, dueAt);
      }
      if (wait.run !== undefined) this.#host.acceptChild(wait.run, this);
    }
    queue.stats.markChanged();
  }

  recorded(entry: Entry, key: string, value: string): void {
    const queue = this.queue(entry.envelope.type);
    queue.stats.markChanged();
    if (entry.lease !== undefined) entry.lease.recorded(key, value);
    else if (entry.isSuspended) this.#resume(queue, entry);
  }

  cancelTimer({ entry, timer }: StoredWait): void {
    if (timer !== undefined) this.queue(entry.envelope.type).removeTimer(timer);
  }

  /** Ends a waiting, suspended or running run of the type, and its child runs, without a dead letter. */
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

  #endChild({ wait }: StoredWait, { error }: Extract<Outcome, { status: 'failed' }>, reason: Error): void {
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
    queue.stats.countSuspended(-1);
    this.#enqueue(queue, entry);
  }

  #suspend(queue: TypeQueue, entry: Entry, seen: number): void {
    if ((entry.checkpoints?.size ?? 0) > seen) {
      this.#enqueue(queue, entry);
      return;
    }
    entry.isSuspended = true;
    queue.stats.countSuspended(1);
  }

  /** Ends an event that waits; `false` if no event with this id does. */
  cancel(id: string, conclude: (envelope: Envelope) => Outcome): boolean {
    const entry = this.#pendingById().get(id);
    if (entry === undefined || entry.lease !== undefined || entry.isSuspended) return false;
    const queue = this.queue(entry.envelope.type);
    queue.remove(entry, this.#host.clock.monotonic());
    this.#conclude(queue, entry, conclude(entry.envelope));
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

  #queueOfDeadLetter(id: string): TypeQueue | undefined {
    for (const queue of this.#queues.values()) if (queue.deadLetters.has(id)) return queue;
    return undefined;
  }

  #conclude(queue: TypeQueue, entry: Entry, outcome: Outcome): void {
    const { envelope, attempt } = entry;
    const { stats } = queue;
    const now = this.#host.clock.now();
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
    if (!isCancelled) stats.durations.add(outcome.durationMs);
    if (outcome.status === 'retry') {
      entry.attempt += 1;
      stats.countRetried();
      this.#enqueueDelayed(queue, entry, outcome.delayMs);
    } else {
      entry.ended = true;
      this.#byId?.delete(envelope.id);
      queue.releaseKey(entry, this.#host.clock.monotonic());
      if (isCancelled) stats.countCancelled();
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope.id, attempt, outcome.error);
      this.#host.waits.drop(entry);
      queue.runs?.end(envelope.id, outcome, now);
      this.#host.recordEnd(outcome.followUps, this);
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

  #enqueue(queue: TypeQueue, entry: Entry): void {
    queue.push(entry);
    this.#dispatcher.serve(queue);
  }

  #enqueueDelayed(queue: TypeQueue, entry: Entry, delayMs: number): void {
    const dueAt = this.#host.clock.monotonic() + delayMs;
    queue.pushDelayed(entry, dueAt);
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

  #remove(consumer: GroupConsumer): number {
    this.#dispatcher.remove(consumer);
    // Last started first, each to the front, restores the order of the queue.
    const running = consumer.running().reverse();
    for (const delivery of running) {
      delivery.release();
      delivery.queue.unshift(delivery.entry);
      this.#dispatcher.serve(delivery.queue);
    }
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return running.length;
  }

  #admit(queue: TypeQueue, envelope: Envelope, checkpoints: Entry['checkpoints'], now: number): Entry {
    const entry: Entry = {
      envelope,
      attempt: 1,
      ended: false,
      lease: undefined,
      holdsKey: false,
      checkpoints,
      waits: undefined,
      isSuspended: false,
    };
    this.#byId?.set(envelope.id, entry);
    queue.runs?.accept(entry, now);
    queue.stats.countReceived(now);
    return entry;
  }
}
