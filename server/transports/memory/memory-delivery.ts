import type { CommitResult, Delivery, Envelope, Outcome } from '../transport.js';
import type { Entry, Lease } from './entry.js';
import type { TypeQueue } from './type-queue.js';

const noCheckpoints: ReadonlyMap<string, string> = new Map();

/** Runs deliveries and counts the slots that they take. */
export interface DeliverySlots {
  remove(delivery: MemoryDelivery): void;
}

/** Records the outcomes of deliveries. */
export interface OutcomeSink {
  record(delivery: MemoryDelivery, outcome: Outcome): void;
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
  /** Always `undefined`: no event outlives a crash of this process. */
  readonly refusal = undefined;
  onRevoked: ((reason: Error) => void) | undefined;
  readonly #slots: DeliverySlots;
  readonly #outcomes: OutcomeSink;
  #leased = true;

  constructor(queue: TypeQueue, entry: Entry, order: number, slots: DeliverySlots, outcomes: OutcomeSink) {
    this.queue = queue;
    this.entry = entry;
    this.attempt = entry.attempt;
    this.takesSharedSlot = !queue.hasOwnLimits;
    this.order = order;
    this.#slots = slots;
    this.#outcomes = outcomes;
  }

  get envelope(): Envelope {
    return this.entry.envelope;
  }

  async commit(outcome: Outcome): Promise<CommitResult> {
    if (this.entry.ended) return 'already';
    if (!this.#leased) return 'fenced';
    this.#leased = false;
    this.#outcomes.record(this, outcome);
    return 'ok';
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.entry.checkpoints ?? noCheckpoints;
  }

  async checkpoint(key: string, value: string): Promise<CommitResult> {
    const { checkpoints, ended } = this.entry;
    if (checkpoints?.has(key) === true) return 'already';
    if (ended || !this.#leased) return 'fenced';
    checkpoints?.set(key, value);
    this.queue.stats.markChanged();
    return 'ok';
  }

  release(): void {
    this.#slots.remove(this);
    this.entry.lease = undefined;
    this.queue.stats.countRelease();
  }

  revoke(reason: Error): void {
    this.#leased = false;
    this.onRevoked?.(reason);
  }
}
