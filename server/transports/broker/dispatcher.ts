import type { Clock, Timer } from '../clock.js';
import type {
  CommitResult,
  Delivery,
  Envelope,
  Offer,
  Outcome,
  RevokedCallback,
  RunWait,
  Subscription,
  Verdict,
} from '../delivery.js';
import { type EventStarter, loneEvents } from '../lone-events.js';
import type { ConsumeOptions, DroppedEvent } from '../transport.js';
import type { Entry, Lease } from './entry.js';
import type { CrashGuard, Journal } from './journal.js';
import { DelayQueue, Deque } from './queues.js';
import { offersOf } from './run-waits.js';
import type { TurnBudget } from './turn-budget.js';
import type { TypeQueue } from './type-queue.js';

// Maximum number of starts per turn of the event loop, so that timers and sockets get their turn.
const sliceSize = 256;

/** Starts the entries of a group's queues: decides which queue is next, when, and on which consumer. */
export class Dispatcher implements EventStarter {
  readonly #clock: Clock;
  readonly #outcomes: OutcomeSink;
  #consumers: readonly ConsumerSlots[] = [];
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

  add(consumer: ConsumerSlots): void {
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
    return this.consumerOf(type)?.handles.get(type);
  }

  /** Returns the consumer of the type that was added last. */
  consumerOf(type: string): ConsumerSlots | undefined {
    return this.#consumers.findLast(({ handles }) => handles.has(type));
  }

  remove(consumer: ConsumerSlots): void {
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
  isHandledByOthers(consumer: ConsumerSlots, type: string): boolean {
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

  /** Returns the deliveries that are running. */
  running(): readonly LeasedDelivery[] {
    return this.#consumers.flatMap((consumer) => consumer.running());
  }

  #wakeQueue(queue: TypeQueue, at: number): void {
    if (at >= queue.wakeAt) return;
    queue.wakeAt = at;
    this.#wakes.push(queue, at);
  }

  #list(queue: TypeQueue): void {
    if (queue.listed || !this.#hasNext(queue)) return;
    queue.listed = true;
    (queue.hasOwnLimits ? this.#ownTurn : this.#sharedTurn).push(queue);
  }

  /** An entry may be ready that a consumer can run. */
  #hasNext(queue: TypeQueue): boolean {
    if (queue.isPaused) return false;
    if (queue.hasReady) return this.handles(queue.type);
    return (queue.newer?.size ?? 0) > 0 && this.#consumers.some((consumer) => canContinue(consumer, queue));
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
      } else if (this.#hasNext(queue) && this.#isOpen(queue)) {
        this.#leftInSlice -= 1;
        this.#start(queue, consumer);
        this.#wakeQueue(queue, queue.nextWakeAt);
        this.#list(queue);
        return true;
      }
    }
    return false;
  }

  #start(queue: TypeQueue, consumer: ConsumerSlots): void {
    const entry = queue.start(this.#clock, consumer.versionOf(queue.type));
    if (entry === undefined) return;
    this.#started += 1;
    const delivery = new LeasedDelivery(queue, entry, this.#started, consumer, this.#outcomes);
    entry.lease = delivery;
    const { journal } = this.#outcomes;
    const { crashes } = journal;
    journal.started();
    const guard = crashes?.isSuspect(entry) === true ? crashes : undefined;
    const counted = queue.startsWith(entry);
    if (counted.length === 0) consumer.run(delivery, guard);
    else consumer.run(delivery, guard, (stored) => journal.starts(queue, counted, stored));
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
  #consumerFor(queue: TypeQueue): ConsumerSlots | undefined {
    let draining: ConsumerSlots | undefined;
    let isOpen = false;
    const { length } = this.#consumers;
    for (let i = 1; i <= length; i += 1) {
      const index = (this.#lastServed + i) % length;
      const consumer = this.#consumers[index];
      if (consumer === undefined || !consumer.handles.has(queue.type)) continue;
      if (!queue.hasReady && !canContinue(consumer, queue)) continue;
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

/** Returns `true` if a run of the queue waits for no higher version than that of the consumer. */
function canContinue(consumer: ConsumerSlots, { type, newer }: TypeQueue): boolean {
  return consumer.handles.has(type) && newer !== undefined && newer.lowestVersion <= consumer.versionOf(type);
}

/** One connection's part in a consumer group: the types that it handles and the deliveries that it runs. */
export class ConsumerSlots implements DeliverySlots {
  /** Subscriptions by type. */
  readonly handles: ReadonlyMap<string, Subscription>;
  // Not a Set: the table of an old Set keeps deleted entries alive, and a busy hub spent a third of its time on
  // garbage collection.
  readonly #running: LeasedDelivery[] = [];
  /** Called after each round of deliveries while the consumer drains; `undefined` until then. */
  onRound: (() => void) | undefined;
  readonly #options: ConsumeOptions;
  #sharedRunning = 0;
  #overdue = 0;

  constructor(options: ConsumeOptions) {
    this.#options = options;
    this.handles = new Map(options.subscriptions.map((subscription) => [subscription.type, subscription]));
  }

  /** Version of the workflow whose runs the type has. */
  versionOf(type: string): number {
    return this.handles.get(type)?.version ?? 1;
  }

  get isDraining(): boolean {
    return this.onRound !== undefined;
  }

  /** Reports that a run dropped an event. */
  dropped(event: DroppedEvent): void {
    this.#options.onDropped?.(event);
  }

  get hasSharedSlot(): boolean {
    return this.#sharedRunning < this.#options.concurrency;
  }

  /** Number of handlers that run, overdue ones included. */
  get active(): number {
    return this.#running.length + this.#overdue;
  }

  /** A handler runs, overdue ones included. */
  get isRunning(): boolean {
    return this.active > 0;
  }

  /** Number of handlers that still run although their attempt has its outcome. */
  get overdue(): number {
    return this.#overdue;
  }

  /** Running deliveries, in the order of their start. */
  running(): LeasedDelivery[] {
    return [...this.#running].sort((a, b) => a.order - b.order);
  }

  /**
   * @param guard delivers, now or later, or not at all
   * @param store stores the start, before the delivery
   */
  run(delivery: LeasedDelivery, guard: CrashGuard | undefined, store?: (stored: () => void) => void): void {
    this.#add(delivery);
    if (store === undefined) this.#deliver(delivery, guard);
    // The lease may end meanwhile.
    else store(() => delivery.isLeased && this.#deliver(delivery, guard));
  }

  #deliver(delivery: LeasedDelivery, guard: CrashGuard | undefined): void {
    if (guard === undefined) this.#options.onDelivery(delivery);
    else guard.deliver(delivery, () => this.#options.onDelivery(delivery));
  }

  #add(delivery: LeasedDelivery): void {
    delivery.index = this.#running.length;
    this.#running.push(delivery);
    if (delivery.takesSharedSlot) this.#sharedRunning += 1;
  }

  remove(delivery: LeasedDelivery): void {
    const last = this.#running.pop();
    if (last !== undefined && last !== delivery) {
      this.#running[delivery.index] = last;
      last.index = delivery.index;
    }
    if (delivery.takesSharedSlot) this.#sharedRunning -= 1;
  }

  addOverdue(delivery: LeasedDelivery): void {
    this.#overdue += 1;
    if (delivery.takesSharedSlot) this.#sharedRunning += 1;
  }

  removeOverdue(delivery: LeasedDelivery): void {
    this.#overdue -= 1;
    if (delivery.takesSharedSlot) this.#sharedRunning -= 1;
  }
}

const noCheckpoints: ReadonlyMap<string, string> = new Map();
const noEmits: readonly Envelope[] = [];

/** Runs deliveries and counts the slots that they take. */
interface DeliverySlots {
  remove(delivery: LeasedDelivery): void;
  addOverdue(delivery: LeasedDelivery): void;
  removeOverdue(delivery: LeasedDelivery): void;
}

/** Records the outcomes of deliveries. */
export interface OutcomeSink {
  readonly journal: Journal;
  /** Makes functions of runs yield. */
  readonly turns: TurnBudget;
  record(delivery: LeasedDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void;
  /** Accepts the events that a step emitted. */
  emit(envelopes: readonly Envelope[]): void;
  wait(delivery: LeasedDelivery, waits: readonly RunWait[]): void;
  /** Records the verdict on an offer of a run. */
  decide(delivery: LeasedDelivery, offer: Offer, verdict: Verdict): CommitResult;
}

/** One attempt, leased to a consumer until it commits or the lease is revoked. */
export class LeasedDelivery implements Delivery, Lease {
  readonly queue: TypeQueue;
  readonly entry: Entry;
  readonly attempt: number;
  readonly takesSharedSlot: boolean;
  /** Increases from one start to the next within the consumer group. */
  readonly order: number;
  /** Position in the list of its consumer. */
  index = 0;
  /** Set before the delivery, if the event crashed too many processes. */
  refusal: Error | undefined;
  onRevoked: RevokedCallback | undefined;
  onRecorded: Delivery['onRecorded'];
  onOffered: Delivery['onOffered'];
  readonly #slots: DeliverySlots;
  readonly #outcomes: OutcomeSink;
  #leased = true;
  /** Keys that this delivery recorded. */
  #recorded: Set<string> | undefined;

  constructor(queue: TypeQueue, entry: Entry, order: number, slots: DeliverySlots, outcomes: OutcomeSink) {
    this.queue = queue;
    this.entry = entry;
    this.attempt = entry.attempt;
    this.takesSharedSlot = !queue.hasOwnLimits;
    this.order = order;
    this.#slots = slots;
    this.#outcomes = outcomes;
  }

  get isLeased(): boolean {
    return this.#leased;
  }

  get envelope(): Envelope {
    return this.entry.envelope;
  }

  commit(outcome: Outcome, handlerEnd?: Promise<void>): CommitResult | Promise<CommitResult> {
    return this.#outcomes.journal.settle(() => this.#commit(outcome, handlerEnd));
  }

  #commit(outcome: Outcome, handlerEnd: Promise<void> | undefined): CommitResult {
    if (this.entry.ended) return 'already';
    if (!this.#leased) return 'fenced';
    this.#leased = false;
    this.#outcomes.record(this, outcome, handlerEnd);
    return 'ok';
  }

  get isAdmitted(): boolean {
    return this.entry.isAdmitted;
  }

  admit(): CommitResult | Promise<CommitResult> {
    return this.#outcomes.journal.settle(() => {
      if (this.entry.ended || !this.#leased) return 'fenced';
      if (this.entry.isAdmitted) return 'already';
      this.entry.isAdmitted = true;
      this.#outcomes.journal.entry(this.queue, this.entry);
      return 'ok';
    });
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.entry.checkpoints ?? noCheckpoints;
  }

  checkpoint(key: string, value: string, emits: readonly Envelope[] = noEmits): CommitResult | Promise<CommitResult> {
    const { journal, turns } = this.#outcomes;
    const result = journal.settle(() => this.#checkpoint(key, value, emits));
    const nextTurn = turns.spendCall(value.length);
    return nextTurn === undefined ? result : inTurn(result, nextTurn);
  }

  #checkpoint(key: string, value: string, emits: readonly Envelope[]): CommitResult {
    const { checkpoints, ended } = this.entry;
    if (ended || !this.#leased) return 'fenced';
    if (checkpoints?.has(key) === true) return this.#recorded?.has(key) === true ? 'already' : 'fenced';
    checkpoints?.set(key, value);
    this.#outcomes.journal.checkpoint(this.entry, key, value);
    this.#outcomes.journal.crashes?.advanced(this.entry);
    this.#recorded ??= new Set();
    this.#recorded.add(key);
    this.recorded(key, value);
    if (emits.length > 0) this.#outcomes.emit(emits);
    return 'ok';
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    return this.#outcomes.journal.settle(() => {
      if (this.entry.ended || !this.#leased) return 'fenced';
      this.#outcomes.wait(this, waits);
      return 'ok';
    });
  }

  get offers(): readonly Offer[] {
    return offersOf(this.entry);
  }

  decide(offer: Offer, verdict: Verdict): CommitResult | Promise<CommitResult> {
    return this.#outcomes.journal.settle(() => {
      if (this.entry.ended || !this.#leased) return 'fenced';
      return this.#outcomes.decide(this, offer, verdict);
    });
  }

  offered(): void {
    this.#outcomes.journal.afterStored(() => this.onOffered?.());
  }

  recorded(key: string, value: string): void {
    this.queue.stats.markChanged();
    this.#outcomes.journal.afterStored(() => {
      this.queue.runs?.changed(this.envelope.id);
      this.onRecorded?.(key, value);
    });
  }

  release(): void {
    this.#slots.remove(this);
    this.entry.lease = undefined;
    this.queue.release(this.entry);
    this.#outcomes.journal.crashes?.released(this.entry);
  }

  addOverdue(): void {
    this.#slots.addOverdue(this);
  }

  removeOverdue(): void {
    this.#slots.removeOverdue(this);
  }

  revoke(reason: Error): Promise<void> {
    this.#leased = false;
    return new Promise((resolve) => {
      this.#outcomes.journal.afterStored(() => resolve(this.onRevoked?.(reason)));
    });
  }
}

async function inTurn<T>(result: T | Promise<T>, nextTurn: Promise<void>): Promise<T> {
  const value = await result;
  await nextTurn;
  return value;
}
