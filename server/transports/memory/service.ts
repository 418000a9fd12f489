import { ShutdownError } from '../errors.js';
import type { ConsumeOptions, Envelope, Outcome } from '../transport.js';
import type { Broker } from './broker.js';
import { Connection } from './connection.js';
import { MemoryDelivery } from './delivery.js';
import { Dispatcher } from './dispatcher.js';
import { type Entry, TypeQueue } from './type-queue.js';

/** All that the hubs of one service name share: accepts its events, and records what comes of them. */
export class Service {
  readonly name: string;
  readonly #broker: Broker;
  readonly #queues = new Map<string, TypeQueue>();
  readonly #dispatcher: Dispatcher;
  #started = 0;

  constructor(name: string, broker: Broker) {
    this.name = name;
    this.#broker = broker;
    this.#dispatcher = new Dispatcher(broker.clock, (queue, connection) => this.#start(queue, connection));
  }

  queue(type: string): TypeQueue {
    let queue = this.#queues.get(type);
    if (queue === undefined) {
      queue = new TypeQueue(type, this.#broker.maxDeadLetters);
      this.#queues.set(type, queue);
    }
    return queue;
  }

  /** The type's queue where the service has anything to do with the type. */
  findQueue(type: string): TypeQueue | undefined {
    return this.#queues.get(type);
  }

  open(options: ConsumeOptions): Connection {
    for (const subscription of options.subscriptions) this.queue(subscription.type).subscribe(subscription);
    const connection = new Connection(options);
    this.#dispatcher.add(connection, this.#queues.values());
    return connection;
  }

  /** Drains the connection and removes it; resolves with the number of deliveries handed back. */
  close(connection: Connection, drainMs: number): Promise<number> {
    const { clock } = this.#broker;
    const deadline = clock.monotonic() + drainMs;
    if (drainMs === 0 || this.#isDrained(connection, deadline)) return Promise.resolve(this.#remove(connection));
    return new Promise((resolve) => {
      const finish = (): void => {
        timer.cancel();
        resolve(this.#remove(connection));
      };
      const timer = clock.after(drainMs, finish);
      connection.onRound = () => {
        if (this.#isDrained(connection, deadline)) finish();
      };
    });
  }

  accept(envelope: Envelope, now: number): void {
    const queue = this.queue(envelope.type);
    const entry = this.#admit(queue, envelope, queue.runs === undefined ? undefined : new Map(), now);
    if (envelope.delayMs > 0) this.#enqueueLater(entry, envelope.delayMs);
    else this.#enqueue(entry);
  }

  findDeadLetter(id: string): Entry | undefined {
    for (const { deadLetters } of this.#queues.values()) {
      const dead = deadLetters.find(id);
      if (dead !== undefined) return dead;
    }
    return undefined;
  }

  /** Accepts what failed again: at once, however long it was delayed when it was new. */
  replay({ queue, envelope, checkpoints }: Entry, now: number): void {
    queue.deadLetters.remove(envelope.id);
    this.#enqueue(this.#admit(queue, { ...envelope, replays: envelope.replays + 1 }, checkpoints, now));
  }

  /** Records how a leased delivery ended, and publishes what follows from it. */
  record(delivery: MemoryDelivery, outcome: Outcome): void {
    const { entry } = delivery;
    this.#release(delivery);
    if (outcome.status === 'failed') {
      entry.queue.deadLetters.keep(entry, outcome.error, this.#broker.clock.now());
    }
    this.#conclude(entry, outcome);
  }

  checkpointed({ entry }: MemoryDelivery): void {
    this.#broker.touch(entry.queue.stats);
  }

  /** Ends a run from outside, whether it waits or is running. */
  endRun(entry: Entry, outcome: Outcome, reason: Error): void {
    const { delivery } = entry;
    if (delivery === undefined) {
      entry.queue.remove(entry);
    } else {
      this.#release(delivery);
      delivery.revoke(reason);
    }
    this.#conclude(entry, outcome);
  }

  #admit(queue: TypeQueue, envelope: Envelope, checkpoints: Entry['checkpoints'], now: number): Entry {
    const entry: Entry = { queue, envelope, attempt: 1, ended: false, delivery: undefined, checkpoints };
    queue.runs?.accept(entry, now);
    queue.stats.countReceived(now);
    this.#broker.touch(queue.stats);
    return entry;
  }

  #start(queue: TypeQueue, connection: Connection): void {
    const entry = queue.start(this.#broker.clock.monotonic());
    if (entry === undefined) return;
    queue.stats.active += 1;
    this.#broker.touch(queue.stats);
    this.#started += 1;
    entry.delivery = new MemoryDelivery(entry, connection, this, this.#started);
    connection.begin(entry.delivery);
  }

  #release(delivery: MemoryDelivery): void {
    delivery.connection.end(delivery);
    delivery.entry.delivery = undefined;
    delivery.entry.queue.stats.active -= 1;
  }

  #conclude(entry: Entry, outcome: Outcome): void {
    const { queue, envelope, attempt } = entry;
    const { stats } = queue;
    const now = this.#broker.clock.now();
    stats.durations.add(outcome.durationMs);
    if (outcome.status === 'retry') {
      entry.attempt += 1;
      stats.retried += 1;
      this.#enqueueLater(entry, outcome.delayMs);
    } else if (outcome.status === 'completed' || outcome.status === 'failed') {
      entry.ended = true;
      if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope.id, attempt, outcome.error);
      queue.runs?.end(envelope.id, outcome, now);
      this.#broker.recordEnd(outcome.followUps, this);
    }
    this.#broker.touch(stats);
    this.#dispatcher.look(queue);
  }

  #enqueue(entry: Entry): void {
    entry.queue.push(entry);
    this.#dispatcher.look(entry.queue);
  }

  #enqueueLater(entry: Entry, delayMs: number): void {
    const dueAt = this.#broker.clock.monotonic() + delayMs;
    entry.queue.pushLater(entry, dueAt);
    this.#dispatcher.lookAt(entry.queue, dueAt);
  }

  #isDrained(connection: Connection, deadline: number): boolean {
    if (connection.isRunning) return false;
    return [...this.#queues.values()].every((queue) => {
      const { type, hasWaiting, nextDueAt } = queue;
      if (!connection.handles.has(type) || this.#dispatcher.isHandledBesides(connection, type)) return true;
      return !hasWaiting && (nextDueAt === undefined || nextDueAt > deadline);
    });
  }

  #remove(connection: Connection): number {
    this.#dispatcher.remove(connection);
    // Last started first, each to the front: the queue is then as it was.
    const running = connection.running().reverse();
    for (const delivery of running) {
      const { queue } = delivery.entry;
      this.#release(delivery);
      queue.unshift(delivery.entry);
      this.#broker.touch(queue.stats);
      this.#dispatcher.look(queue);
    }
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return running.length;
  }
}
