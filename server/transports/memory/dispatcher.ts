import type { Clock, Timer } from '../clock.js';
import type { Connection } from './connection.js';
import { DelayQueue } from './delay-queue.js';
import { Deque } from './deque.js';
import type { TypeQueue } from './type-queue.js';

// Deliveries in one turn of the event loop: after so many, timers and sockets have theirs.
const sliceSize = 256;

/** Decides which of a service's queues starts its next entry, when, and on which connection. */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #start: (queue: TypeQueue, connection: Connection) => void;
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

  /** @param start starts the queue's next entry on the connection */
  constructor(clock: Clock, start: (queue: TypeQueue, connection: Connection) => void) {
    this.#clock = clock;
    this.#start = start;
  }

  add(connection: Connection, queues: Iterable<TypeQueue>): void {
    this.#connections = [...this.#connections, connection];
    for (const queue of queues) this.#list(queue);
    this.#requestPump();
  }

  remove(connection: Connection): void {
    this.#connections = this.#connections.filter((other) => other !== connection);
    if (this.#connections.length === 0) this.#cancelTimers();
    this.#requestPump();
  }

  /** Whether another connection than this one handles the type, and goes on to. */
  isHandledBesides(connection: Connection, type: string): boolean {
    return this.#connections.some((other) => other !== connection && !other.isDraining && other.handles.has(type));
  }

  /** Looks at a queue in which something waits now, or for which there is a place now. */
  look(queue: TypeQueue): void {
    this.#list(queue);
    this.#requestPump();
  }

  /** Looks at a queue at that time, at the latest. */
  lookAt(queue: TypeQueue, at: number): void {
    this.#wakeQueue(queue, at);
    this.#requestPump();
  }

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
    const now = this.#clock.monotonic();
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
      } else if (queue.hasWaiting && this.#isOpen(queue)) {
        this.#leftInSlice -= 1;
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
    if (openAt <= this.#clock.monotonic()) return true;
    this.#wakeQueue(queue, openAt);
    return false;
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
    this.#nextSlice ??= this.#clock.soon(() => {
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
    this.#wake = this.#clock.after(nextDueAt - this.#clock.monotonic(), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#requestPump();
    });
  }

  #cancelTimers(): void {
    this.#wake?.cancel();
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#nextSlice?.cancel();
    this.#nextSlice = undefined;
    this.#leftInSlice = sliceSize;
  }
}
