import type { Clock, Timer } from '../../clock.js';
import { type EventStarter, loneEvents } from '../../processes/lone-events.js';
import type { Subscription } from '../../transport.js';
import { DelayQueue } from '../queues/delay-queue.js';
import { Deque } from '../queues/deque.js';
import type { Entry } from '../records/entry.js';
import type { TypeQueue } from '../type-queue/type-queue.js';
import type { GroupConsumer } from './group-consumer.js';
import { MemoryDelivery, type OutcomeSink } from './memory-delivery.js';

// Maximum number of starts per turn of the event loop, so that timers and sockets get their turn.
const sliceSize = 256;

/** Starts the entries of a group's queues: decides which queue is next, when, and on which consumer. */
export class Dispatcher implements EventStarter {
  readonly #clock: Clock;
  readonly #outcomes: OutcomeSink;
  #consumers: readonly GroupConsumer[] = [];
  #leaveProcess: (() => void) | undefined;
  // Queues with waiting entries and a consumer that handles the type, each once, served round robin.
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

  /** @param outcomes receives the outcome of each delivery */
  constructor(clock: Clock, outcomes: OutcomeSink) {
    this.#clock = clock;
    this.#outcomes = outcomes;
  }

  add(consumer: GroupConsumer): void {
    this.#consumers = [...this.#consumers, consumer];
    this.#leaveProcess ??= loneEvents.join(this);
  }

  /** Serves all queues after consumers or settings changed. */
  serveAll(queues: Iterable<TypeQueue>): void {
    // With other limits a queue may belong in the other turn.
    for (const turn of [this.#sharedTurn, this.#ownTurn]) {
      for (let queue = turn.shift(); queue !== undefined; queue = turn.shift()) queue.listed = false;
    }
    for (const queue of queues) {
      this.#wakeQueue(queue, queue.nextWakeAt);
      this.#list(queue);
    }
    this.#requestPump();
  }

  /** Returns the type's subscription of the consumer that was added last; `undefined` if none handles the type. */
  latestSubscription(type: string): Subscription | undefined {
    return this.#consumers.findLast(({ handles }) => handles.has(type))?.handles.get(type);
  }

  remove(consumer: GroupConsumer): void {
    this.#consumers = this.#consumers.filter((other) => other !== consumer);
    if (this.#consumers.length > 0) return;
    this.#cancelTimers();
    this.#leaveProcess?.();
    this.#leaveProcess = undefined;
  }

  get active(): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.active, 0);
  }

  resume(): void {
    this.#requestPump();
  }

  /** Returns `true` if another consumer that is not draining handles the type. */
  isHandledByOthers(consumer: GroupConsumer, type: string): boolean {
    return this.#consumers.some((other) => other !== consumer && !other.isDraining && other.handles.has(type));
  }

  /** Serves a queue that has a new waiting entry or a free slot. */
  serve(queue: TypeQueue): void {
    this.#list(queue);
    const hasListed = this.#sharedTurn.size + this.#ownTurn.size > 0;
    if (hasListed || loneEvents.isReserved || this.#consumers.some(({ isDraining }) => isDraining)) this.#requestPump();
  }

  /** Serves a queue at a time, or earlier. */
  serveAt(queue: TypeQueue, at: number): void {
    this.#wakeQueue(queue, at);
    this.#requestPump();
  }

  /** Returns the entries that are running. */
  running(): readonly Entry[] {
    return this.#consumers.flatMap((consumer) => consumer.running().map(({ entry }) => entry));
  }

  #wakeQueue(queue: TypeQueue, at: number): void {
    if (at >= queue.wakeAt) return;
    queue.wakeAt = at;
    this.#wakes.push(queue, at);
  }

  #list(queue: TypeQueue): void {
    if (queue.listed || !queue.hasReady || !this.handles(queue.type)) return;
    queue.listed = true;
    (queue.hasOwnLimits ? this.#ownTurn : this.#sharedTurn).push(queue);
  }

  /** A consumer handles the type. */
  handles(type: string): boolean {
    return this.#consumers.some(({ handles }) => handles.has(type));
  }

  #requestPump(): void {
    if (this.#isPumpRequested || this.#nextSlice !== undefined || this.#consumers.length === 0) return;
    this.#isPumpRequested = true;
    // A running pump checks for requests itself, such as those that handlers make.
    if (!this.#isPumping) queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#isPumping = true;
    try {
      while (this.#isPumpRequested) {
        this.#isPumpRequested = false;
        if (!this.#outcomes.journal.isStored) {
          this.#outcomes.journal.afterStored(() => this.#requestPump());
          break;
        }
        loneEvents.check();
        this.#promoteDue();
        this.#startAll();
        if (!this.#outcomes.journal.isStored) this.#outcomes.journal.afterStored(() => this.#requestPump());
      }
    } finally {
      this.#isPumpRequested = false;
      this.#isPumping = false;
      // Else the next pump does: what is due now would wake the dispatcher again and again.
      if (this.#outcomes.journal.isStored) this.#armWake();
    }
    for (const consumer of this.#consumers) consumer.onRound?.();
  }

  #promoteDue(): void {
    if (this.#wakes.nextDueAt === undefined) return;
    const now = this.#clock.monotonic();
    for (let queue = this.#wakes.shift(now); queue !== undefined; queue = this.#wakes.shift(now)) {
      queue.wakeAt = Number.POSITIVE_INFINITY;
      queue.promoteDue(now);
      this.#wakeQueue(queue, queue.nextWakeAt);
      this.#list(queue);
    }
  }

  /** Starts entries until every queue is blocked: in turns one of a type with its own limits, and one of the others. */
  #startAll(): void {
    let hasStarted = true;
    // A start may find out that the storage cannot be read.
    while (hasStarted && this.#outcomes.journal.isStored && !loneEvents.isReserved) {
      if (this.#leftInSlice <= 0) {
        this.#yieldSlice();
        return;
      }
      const hasStartedOwn = this.#startNext(this.#ownTurn);
      hasStarted = this.#startNext(this.#sharedTurn) || hasStartedOwn;
    }
  }

  /** Starts one entry of the first queue that is not blocked. */
  #startNext(turn: Deque<TypeQueue>): boolean {
    if (turn === this.#sharedTurn && !this.#consumers.some((consumer) => consumer.hasSharedSlot)) return false;
    for (let left = turn.size; left > 0; left -= 1) {
      const queue = turn.shift();
      if (queue === undefined) return false;
      queue.listed = false;
      const consumer = this.#consumerFor(queue);
      if (consumer === undefined) {
        this.#list(queue);
      } else if (queue.hasReady && this.#isOpen(queue)) {
        this.#leftInSlice -= 1;
        this.#start(queue, consumer);
        this.#wakeQueue(queue, queue.nextWakeAt);
        this.#list(queue);
        return true;
      }
    }
    return false;
  }

  #start(queue: TypeQueue, consumer: GroupConsumer): void {
    const entry = queue.start(this.#clock);
    if (entry === undefined) return;
    this.#started += 1;
    const delivery = new MemoryDelivery(queue, entry, this.#started, consumer, this.#outcomes);
    entry.lease = delivery;
    const { crashes } = this.#outcomes.journal;
    if (crashes?.isSuspect(entry) === true) consumer.runGuarded(delivery, crashes);
    else consumer.run(delivery);
  }

  /** Returns `true` if the queue's own limits allow a start. If not, the end of an entry or a timer lists it again. */
  #isOpen(queue: TypeQueue): boolean {
    if (!queue.hasFreeSlot) return false;
    const { openAt } = queue;
    if (openAt === Number.NEGATIVE_INFINITY || openAt <= this.#clock.monotonic()) return true;
    this.#wakeQueue(queue, openAt);
    return false;
  }

  /** Finds a consumer of the type with a free slot; one that drains only if no other consumer handles the type. */
  #consumerFor(queue: TypeQueue): GroupConsumer | undefined {
    let draining: GroupConsumer | undefined;
    let isOpen = false;
    const { length } = this.#consumers;
    for (let i = 1; i <= length; i += 1) {
      const index = (this.#lastServed + i) % length;
      const consumer = this.#consumers[index];
      if (consumer === undefined || !consumer.handles.has(queue.type)) continue;
      if (!consumer.isDraining) isOpen = true;
      if (!queue.hasOwnLimits && !consumer.hasSharedSlot) continue;
      if (consumer.isDraining) {
        draining = consumer;
      } else {
        this.#lastServed = index;
        return consumer;
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
    if (nextDueAt >= this.#wakeAt || this.#consumers.length === 0) return;
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
