import type { Clock } from '../clock.js';
import { ShutdownError } from '../errors.js';
import type { ConsumeOptions, Envelope, Outcome } from '../transport.js';
import { type DeadLetterLimits, DeadLetters } from './dead-letters.js';
import { Dispatcher } from './dispatcher.js';
import type { Entry } from './entry.js';
import { GroupConsumer } from './group-consumer.js';
import type { MemoryDelivery, OutcomeSink } from './memory-delivery.js';
import type { RevisionCounter } from './revision-counter.js';
import { TypeQueue } from './type-queue.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost {
  readonly clock: Clock;
  readonly deadLetterLimits: DeadLetterLimits;
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

  constructor(service: string, host: GroupHost) {
    this.service = service;
    this.#host = host;
    this.#dispatcher = new Dispatcher(host.clock, this);
  }

  queue(type: string): TypeQueue {
    let queue = this.#queues.get(type);
    if (queue === undefined) {
      queue = new TypeQueue(type, new DeadLetters(this.#host.deadLetterLimits, this.#host.clock), this.#host.revision);
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

  accept(envelope: Envelope, now: number): void {
    const queue = this.queue(envelope.type);
    const entry = admit(queue, envelope, queue.runs === undefined ? undefined : new Map(), now);
    if (envelope.delayMs > 0) this.#enqueueDelayed(queue, entry, envelope.delayMs);
    else this.#enqueue(queue, entry);
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
    this.#enqueue(queue, admit(queue, { ...envelope, replays: envelope.replays + 1 }, checkpoints, now));
  }

  record(delivery: MemoryDelivery, outcome: Outcome): void {
    const { queue, entry } = delivery;
    delivery.release();
    if (outcome.status === 'failed') queue.deadLetters.add(entry, outcome.error, this.#host.clock.now());
    this.#conclude(queue, entry, outcome);
  }

  /** Ends a waiting or running run of the type without a dead letter. */
  endRun(type: string, entry: Entry, outcome: Outcome, reason: Error): void {
    const queue = this.queue(type);
    const { lease } = entry;
    if (lease === undefined) {
      queue.remove(entry);
    } else {
      lease.release();
      lease.revoke(reason);
    }
    this.#conclude(queue, entry, outcome);
  }

  #queueOfDeadLetter(id: string): TypeQueue | undefined {
    for (const queue of this.#queues.values()) if (queue.deadLetters.has(id)) return queue;
    return undefined;
  }

  #conclude(queue: TypeQueue, entry: Entry, outcome: Outcome): void {
    const { envelope, attempt } = entry;
    const { stats } = queue;
    const now = this.#host.clock.now();
    stats.durations.add(outcome.durationMs);
    if (outcome.status === 'retry') {
      entry.attempt += 1;
      stats.countRetried();
      this.#enqueueDelayed(queue, entry, outcome.delayMs);
    } else {
      entry.ended = true;
      if (outcome.status === 'completed') stats.countCompleted(now);
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
}

function admit(queue: TypeQueue, envelope: Envelope, checkpoints: Entry['checkpoints'], now: number): Entry {
  const entry: Entry = { envelope, attempt: 1, ended: false, lease: undefined, checkpoints };
  queue.runs?.accept(entry, now);
  queue.stats.countReceived(now);
  return entry;
}
