import type { Timer } from '../clock.js';
import { ShutdownError } from '../errors.js';
import type { ConsumeOptions, Envelope, Outcome } from '../transport.js';
import type { Broker } from './broker.js';
import { Connection } from './connection.js';
import { DelayQueue } from './delay-queue.js';
import { MemoryDelivery } from './delivery.js';
import { Deque } from './deque.js';
import { type Entry, TypeQueue } from './type-queue.js';

// Deliveries in one turn of the event loop: after so many, timers and sockets have theirs.
const sliceSize = 256;

/** All that the hubs of one service name share: their queues, and the order in which these are served. */
export class Service {
  readonly name: string;
  readonly #broker: Broker;
  readonly #queues = new Map<string, TypeQueue>();
  #connections: readonly Connection[] = [];
  // Queues that have something waiting and somebody to handle it, each once, served in turn.
  readonly #sharedTurn = new Deque<TypeQueue>();
  readonly #ownTurn = new Deque<TypeQueue>();
  readonly #wakes = new DelayQueue<TypeQueue>();
  #wakeAt = Number.POSITIVE_INFINITY;
  #wake: Timer | undefined;
  #nextSlice: Timer | undefined;
  #leftInSlice = sliceSize;
  #isPumping = false;
  #isPumpRequested = false;
  #lastServed = 0;
  #started = 0;

  constructor(name: string, broker: Broker) {
    this.name = name;
    this.#broker = broker;
  }

  queue(type: string): TypeQueue {
    let queue = this.#queues.get(type);
    if (queue === undefined) {
      queue = new TypeQueue(type);
      this.#queues.set(type, queue);
    }
    return queue;
  }

  /** The type's queue where the service has anything to do with the type. */
  findQueue(type: string): TypeQueue | undefined {
    return this.#queues.get(type);
  }

  open(options: ConsumeOptions): Connection {
    const connection = new Connection(options);
    this.#connections = [...this.#connections, connection];
    for (const subscription of options.subscriptions) this.queue(subscription.type).subscribe(subscription);
    for (const queue of this.#queues.values()) this.#list(queue);
    this.#requestPump();
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
    const checkpoints = queue.runs === undefined ? undefined : new Map<string, string>();
    const entry: Entry = { queue, envelope, attempt: 1, ended: false, delivery: undefined, checkpoints };
    queue.runs?.accept(entry, now);
    queue.stats.countReceived(now);
    this.#broker.touch(queue.stats);
    if (envelope.delayMs > 0) this.#enqueueLater(entry, envelope.delayMs);
    else this.#enqueue(entry);
  }

  /** Records how a leased delivery ended, and publishes what follows from it. */
  record(delivery: MemoryDelivery, outcome: Outcome): void {
    this.#release(delivery);
    this.#conclude(delivery.entry, outcome);
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
    } else {
      entry.ended = true;
      if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope.id, attempt, outcome.error);
      queue.runs?.end(envelope.id, outcome, now);
      this.#broker.recordEnd(outcome.followUps, this);
    }
    this.#broker.touch(stats);
    this.#list(queue);
    this.#requestPump();
  }

  #enqueue(entry: Entry): void {
    entry.queue.push(entry);
    this.#list(entry.queue);
    this.#requestPump();
  }

  #enqueueLater(entry: Entry, delayMs: number): void {
    const dueAt = this.#broker.clock.monotonic() + delayMs;
    entry.queue.pushLater(entry, dueAt);
    this.#wakeQueue(entry.queue, dueAt);
    this.#requestPump();
  }

  /** Sees to it that the queue is looked at again at that time. */
  #wakeQueue(queue: TypeQueue, at: number): void {
    if (at >= queue.wakeAt) return;
    queue.wakeAt = at;
    this.#wakes.push(queue, at);
  }

  #list(queue: TypeQueue): void {
    if (queue.listed || !queue.hasWaiting || !this.#isHandled(queue.type)) return;
    queue.listed = true;
    (queue.hasOwnLane ? this.#ownTurn : this.#sharedTurn).push(queue);
  }

  #isHandled(type: string): boolean {
    return this.#connections.some(({ handles }) => handles.has(type));
  }

  #requestPump(): void {
    if (this.#isPumpRequested || this.#nextSlice !== undefined || this.#connections.length === 0) return;
    this.#isPumpRequested = true;
    // What a handler adds while the pump is at work the pump sees by itself.
    if (!this.#isPumping) queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#isPumping = true;
    try {
      while (this.#isPumpRequested) {
        this.#isPumpRequested = false;
        this.#takeDue();
        this.#serve();
      }
    } finally {
      this.#isPumpRequested = false;
      this.#isPumping = false;
      this.#armWake();
    }
    for (const connection of this.#connections) connection.onRound?.();
  }

  #takeDue(): void {
    const now = this.#broker.clock.monotonic();
    for (let queue = this.#wakes.shift(now); queue !== undefined; queue = this.#wakes.shift(now)) {
      queue.wakeAt = Number.POSITIVE_INFINITY;
      queue.takeDue(now);
      if (queue.nextDueAt !== undefined) this.#wakeQueue(queue, queue.nextDueAt);
      this.#list(queue);
    }
  }

  /** Starts what can start: by turns one of a lane of its own and one of the shared lane, until all are blocked. */
  #serve(): void {
    let hasStarted = true;
    while (hasStarted) {
      if (this.#leftInSlice <= 0) {
        this.#yieldSlice();
        return;
      }
      const hasStartedOwn = this.#startNext(this.#ownTurn);
      hasStarted = this.#startNext(this.#sharedTurn) || hasStartedOwn;
    }
  }

  /** Starts one entry of the first queue in turn that is not blocked. */
  #startNext(turn: Deque<TypeQueue>): boolean {
    if (turn === this.#sharedTurn && !this.#connections.some((connection) => connection.hasSharedPlace)) return false;
    for (let left = turn.size; left > 0; left -= 1) {
      const queue = turn.shift();
      if (queue === undefined) return false;
      queue.listed = false;
      const connection = this.#connectionFor(queue);
      if (connection === undefined) {
        this.#list(queue);
      } else if (this.#isOpen(queue)) {
        this.#start(queue, connection);
        this.#list(queue);
        return true;
      }
    }
    return false;
  }

  /** Whether the queue's own limits let it start; where not, it is listed again when an entry ends or its rate allows. */
  #isOpen(queue: TypeQueue): boolean {
    if (!queue.hasFreePlace) return false;
    const { openAt } = queue;
    if (openAt <= this.#broker.clock.monotonic()) return true;
    this.#wakeQueue(queue, openAt);
    return false;
  }

  #start(queue: TypeQueue, connection: Connection): void {
    const entry = queue.start(this.#broker.clock.monotonic());
    if (entry === undefined) return;
    this.#leftInSlice -= 1;
    queue.stats.active += 1;
    this.#broker.touch(queue.stats);
    this.#started += 1;
    entry.delivery = new MemoryDelivery(entry, connection, this, this.#started);
    connection.begin(entry.delivery);
  }

  /** Somebody who handles the queue's type and has a place free; one that drains only where nobody else handles it. */
  #connectionFor(queue: TypeQueue): Connection | undefined {
    let draining: Connection | undefined;
    let isOpen = false;
    const { length } = this.#connections;
    for (let i = 1; i <= length; i += 1) {
      const index = (this.#lastServed + i) % length;
      const connection = this.#connections[index];
      if (connection === undefined || !connection.handles.has(queue.type)) continue;
      if (!connection.isDraining) isOpen = true;
      if (!queue.hasOwnLane && !connection.hasSharedPlace) continue;
      if (connection.isDraining) {
        draining = connection;
      } else {
        this.#lastServed = index;
        return connection;
      }
    }
    return isOpen ? undefined : draining;
  }

  #yieldSlice(): void {
    this.#nextSlice ??= this.#broker.clock.soon(() => {
      this.#nextSlice = undefined;
      this.#leftInSlice = sliceSize;
      this.#requestPump();
    });
  }

  #armWake(): void {
    const nextDueAt = this.#wakes.nextDueAt ?? Number.POSITIVE_INFINITY;
    if (nextDueAt >= this.#wakeAt || this.#connections.length === 0) return;
    this.#wake?.cancel();
    this.#wakeAt = nextDueAt;
    this.#wake = this.#broker.clock.after(nextDueAt - this.#broker.clock.monotonic(), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#requestPump();
    });
  }

  #isDrained(connection: Connection, deadline: number): boolean {
    if (connection.isRunning) return false;
    const others = this.#connections.filter((other) => other !== connection && !other.isDraining);
    return [...this.#queues.values()].every((queue) => {
      if (!connection.handles.has(queue.type) || others.some(({ handles }) => handles.has(queue.type))) return true;
      return !queue.hasWaiting && (queue.nextDueAt === undefined || queue.nextDueAt > deadline);
    });
  }

  #remove(connection: Connection): number {
    this.#connections = this.#connections.filter((other) => other !== connection);
    // Last started first, each to the front: the queue is then as it was.
    const running = connection.running().reverse();
    for (const delivery of running) {
      this.#release(delivery);
      delivery.entry.queue.unshift(delivery.entry);
      this.#broker.touch(delivery.entry.queue.stats);
      this.#list(delivery.entry.queue);
    }
    if (this.#connections.length === 0) this.#cancelTimers();
    this.#requestPump();
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return running.length;
  }

  #cancelTimers(): void {
    this.#wake?.cancel();
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#nextSlice?.cancel();
    this.#nextSlice = undefined;
    this.#leftInSlice = sliceSize;
  }
}
