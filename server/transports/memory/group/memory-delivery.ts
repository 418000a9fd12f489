import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transport.js';
import type { Entry, Lease } from '../records/entry.js';
import type { Journal } from '../records/journal.js';
import type { TurnBudget } from '../turn-budget.js';
import type { TypeQueue } from '../type-queue/type-queue.js';

const noCheckpoints: ReadonlyMap<string, string> = new Map();
const noEmits: readonly Envelope[] = [];

/** Runs deliveries and counts the slots that they take. */
export interface DeliverySlots {
  remove(delivery: MemoryDelivery): void;
  addOverdue(delivery: MemoryDelivery): void;
  removeOverdue(delivery: MemoryDelivery): void;
}

/** Records the outcomes of deliveries. */
export interface OutcomeSink {
  readonly journal: Journal;
  /** Makes functions of runs yield. */
  readonly turns: TurnBudget;
  record(delivery: MemoryDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void;
  /** Accepts the events that a step emitted. */
  emit(envelopes: readonly Envelope[]): void;
  wait(delivery: MemoryDelivery, waits: readonly RunWait[]): void;
}

/** One attempt, leased to a consumer until it commits or the lease is revoked. */
export class MemoryDelivery implements Delivery, Lease {
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
  onRevoked: ((reason: Error) => void) | undefined;
  onRecorded: Delivery['onRecorded'];
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

  /** Takes the slot of the consumer again, for a handler that outlives its attempt. */
  addOverdue(): void {
    this.#slots.addOverdue(this);
  }

  removeOverdue(): void {
    this.#slots.removeOverdue(this);
  }

  revoke(reason: Error): void {
    this.#leased = false;
    this.#outcomes.journal.afterStored(() => this.onRevoked?.(reason));
  }
}

async function inTurn<T>(result: T | Promise<T>, nextTurn: Promise<void>): Promise<T> {
  const value = await result;
  await nextTurn;
  return value;
}
