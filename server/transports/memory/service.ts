import { ShutdownError } from '../../errors.js';
import type { Timer } from '../clock.js';
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
  readonly #later = new DelayQueue<() => void>();
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
    return new Promise((resolve) => {
      const deadline = clock.monotonic() + drainMs;
      const finish = (): void => {
        timer.cancel();
        resolve(this.#remove(connection));
      };
      const timer = clock.after(drainMs, finish);
      connection.onRound = () => {
        if (this.#isDrained(connection, deadline)) finish();
      };
      connection.onRound();
    });
  }

  accept(envelope: Envelope, now: number): void {
    const queue = this.queue(envelope.type);
    const entry: Entry = { queue, envelope, attempt: 1, ended: false };
    queue.stats.countReceived(now);
    this.#broker.touch(queue.stats);
    if (envelope.delayMs > 0) this.#enqueueLater(entry, envelope.delayMs);
    else this.#enqueue(entry);
  }

  /** Records how a leased delivery ended, and publishes what follows from it. */
  record(delivery: MemoryDelivery, outcome: Outcome): void {
    const { entry, attempt } = delivery;
    const { stats } = entry.queue;
    const now = this.#broker.clock.now();
    this.#end(delivery);
    stats.durations.add(outcome.durationMs);
    if (outcome.status === 'retry') {
      entry.attempt += 1;
      stats.retried += 1;
      this.#enqueueLater(entry, outcome.delayMs);
    } else {
      entry.ended = true;
      if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, entry.envelope.id, attempt, outcome.error);
      this.#broker.recordEnd(outcome.followUps, this);
    }
    this.#broker.touch(stats);
    this.#list(entry.queue);
    this.#requestPump();
  }

  #end(delivery: MemoryDelivery): void {
    delivery.connection.end(delivery);
    delivery.entry.queue.stats.active -= 1;
  }

  #enqueue(entry: Entry): void {
    entry.queue.push(entry);
    this.#list(entry.queue);
    this.#requestPump();
  }

  #enqueueLater(entry: Entry, delayMs: number): void {
    this.#later.push(() => this.#enqueue(entry), this.#broker.clock.monotonic() + delayMs);
    this.#requestPump();
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
    if (this.#isPumpRequested || this.#isPumping || this.#nextSlice !== undefined) return;
    if (this.#connections.length === 0) return;
    this.#isPumpRequested = true;
    queueMicrotask(() => {
      this.#isPumpRequested = false;
      this.#pump();
    });
  }

  #pump(): void {
    this.#isPumping = true;
    try {
      this.#takeDue();
      this.#serve(this.#ownTurn);
      this.#serve(this.#sharedTurn);
    } finally {
      this.#isPumping = false;
      this.#armWake();
    }
    for (const connection of this.#connections) connection.onRound?.();
  }

  #takeDue(): void {
    const now = this.#broker.clock.monotonic();
    for (let due = this.#later.shift(now); due !== undefined; due = this.#later.shift(now)) due();
  }

  /** Starts what can start, one of each queue at a time, until every queue in turn is blocked. */
  #serve(turn: Deque<TypeQueue>): void {
    for (let blocked = 0; blocked < turn.size; ) {
      if (turn === this.#sharedTurn && !this.#connections.some((connection) => connection.hasSharedPlace)) return;
      if (this.#leftInSlice === 0) {
        this.#yieldSlice();
        return;
      }
      const queue = turn.shift();
      if (queue === undefined) return;
      const connection = this.#connectionFor(queue);
      if (connection === undefined) {
        queue.listed = this.#isHandled(queue.type);
        if (queue.listed) turn.push(queue);
        blocked += 1;
      } else if (this.#isOpen(queue)) {
        blocked = 0;
        this.#leftInSlice -= 1;
        this.#start(queue, connection);
        queue.listed = false;
        this.#list(queue);
      }
    }
  }

  /** Whether the queue's own limits let it start; where not, it is listed again when they do. */
  #isOpen(queue: TypeQueue): boolean {
    if (!queue.hasFreePlace) {
      queue.listed = false;
      return false;
    }
    const { openAt } = queue;
    if (openAt <= this.#broker.clock.monotonic()) return true;
    this.#later.push(() => {
      queue.listed = false;
      this.#list(queue);
    }, openAt);
    return false;
  }

  #start(queue: TypeQueue, connection: Connection): void {
    const entry = queue.start(this.#broker.clock.monotonic());
    if (entry === undefined) return;
    queue.stats.active += 1;
    this.#broker.touch(queue.stats);
    this.#started += 1;
    connection.begin(new MemoryDelivery(entry, connection, this, this.#started));
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
      this.#pump();
    });
  }

  #armWake(): void {
    const nextDueAt = this.#later.nextDueAt ?? Number.POSITIVE_INFINITY;
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
    if (this.#connections.some(({ isDraining }) => !isDraining)) return true;
    const waits = [...this.#queues.values()].some(({ type, hasWaiting }) => hasWaiting && connection.handles.has(type));
    return !waits && (this.#later.nextDueAt ?? Number.POSITIVE_INFINITY) > deadline;
  }

  #remove(connection: Connection): number {
    this.#connections = this.#connections.filter((other) => other !== connection);
    // Last started first, each to the front: the queue is then as it was.
    const running = connection.running().reverse();
    for (const delivery of running) {
      this.#end(delivery);
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
