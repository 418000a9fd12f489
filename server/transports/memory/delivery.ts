import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../transport.js';
import type { Connection } from './connection.js';
import type { Service } from './service.js';
import type { Entry } from './type-queue.js';

const noCheckpoints: ReadonlyMap<string, string> = new Map();

/** One attempt, leased to a connection until it commits or is revoked. */
export class MemoryDelivery implements Delivery {
  readonly entry: Entry;
  readonly attempt: number;
  readonly connection: Connection;
  readonly takesSharedPlace: boolean;
  /** Grows from one start to the next. */
  readonly order: number;
  /** Where its connection keeps it. */
  place = 0;
  /** What ends this process ends the events it kept: none comes back. */
  readonly refusal = undefined;
  readonly #service: Service;
  #leased = true;
  onRevoked: ((reason: Error) => void) | undefined;
  onRecorded: Delivery['onRecorded'];

  constructor(entry: Entry, connection: Connection, service: Service, order: number) {
    this.entry = entry;
    this.attempt = entry.attempt;
    this.connection = connection;
    this.takesSharedPlace = !entry.queue.hasOwnLane;
    this.#service = service;
    this.order = order;
  }

  get envelope(): Envelope {
    return this.entry.envelope;
  }

  async commit(outcome: Outcome): Promise<CommitResult> {
    if (this.entry.ended) return 'already';
    if (!this.#leased) return 'fenced';
    this.#leased = false;
    this.#service.record(this, outcome);
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
    this.#service.checkpointed(this);
    return 'ok';
  }

  async wait(_waits: readonly RunWait[]): Promise<CommitResult> {
    throw new Error('waits are not recorded yet');
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    this.#leased = false;
    this.onRevoked?.(reason);
  }
}
