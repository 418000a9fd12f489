import type { Clock } from '../clock.js';
import { ShutdownError } from '../errors.js';
import type { ConsumeOptions, Envelope, Outcome } from '../transport.js';
import { Dispatcher } from './dispatcher.js';
import type { Entry } from './entry.js';
import { GroupConsumer } from './group-consumer.js';
import type { MemoryDelivery, OutcomeSink } from './memory-delivery.js';
import type { RevisionCounter } from './revision-counter.js';
import { TypeQueue } from './type-queue.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost {
  readonly clock: Clock;
  readonly maxDeadLetters: number;
  readonly revision: RevisionCounter;
  /** Counts one event as no longer pending and accepts its follow-ups. */
  recordEnd(followUps: readonly Envelope[], from: ConsumerGroup): void;
}

/** All hubs of one service: accepts events for them and records the outcomes. */
export class ConsumerGroup implements OutcomeSink {
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
      queue = new TypeQueue(type, this.#host.maxDeadLetters, this.#host.revision);
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

  /** Ends a waiting or running run of the type without a dead letter. */
  endRun(type: string, entry: Entry, outcome: Outcome, reason: Error): void {
    const queue = this.queue(type);
    const { lease } = entry;
    if (lease === undefined) {
      queue.remove(entry, this.#host.clock.monotonic());
    } else {
      lease.release();
      lease.revoke(reason);
    }
    this.#conclude(queue, entry, outcome);
  }

  /** Ends an event that waits; `false` if no event with this id does. */
  cancel(id: string, conclude: (envelope: Envelope) => Outcome): boolean {
    const entry = this.#pendingById().get(id);
    if (entry === undefined || entry.lease !== undefined) return false;
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
    const isCancelled = outcome.status === 'failed' && outcome.cancelled === true;
    if (!isCancelled) stats.durations.add(outcome.durationMs);
    if (outcome.status === 'retry') {
      entry.attempt += 1;
      stats.countRetried();
      this.#enqueueDelayed(queue, entry, outcome.delayMs);
    } else if (outcome.status === 'completed' || outcome.status === 'failed') {
      entry.ended = true;
      this.#byId?.delete(envelope.id);
      queue.releaseKey(entry, this.#host.clock.monotonic());
      if (isCancelled) stats.countCancelled();
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope.id, attempt, outcome.error);
      queue.runs?.end(envelope.id, outcome, now);
      this.#host.recordEnd(outcome.followUps, this);
    }
    this.#dispatcher.serve(queue);
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
    const entry: Entry = { envelope, attempt: 1, ended: false, lease: undefined, holdsKey: false, checkpoints };
    this.#byId?.set(envelope.id, entry);
    queue.runs?.accept(entry, now);
    queue.stats.countReceived(now);
    return entry;
  }
}
