import type { CommitResult, Delivery, Envelope, Outcome } from '../transport.js';

/** A job that is leased to this process. */
export interface Lease {
  /** What stands before the keys of the job's queue. */
  readonly lane: string;
  readonly jobId: string;
  /** What the job's lock holds while the lease lasts. */
  readonly token: string;
  readonly unit: string;
  readonly keepsRuns: boolean;
}

/** Where a delivery's results go. */
export interface DeliveryHost {
  commit(lease: Lease, attempt: number, outcome: Outcome): Promise<CommitResult>;
  checkpoint(lease: Lease, key: string, value: string): Promise<CommitResult>;
}

/** One attempt, leased to this process until it commits or the lease is lost. */
export class RedisDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  onRevoked: ((reason: Error) => void) | undefined;
  readonly #host: DeliveryHost;
  #lease: Lease;
  #finish = (): void => {};
  /** Resolves when this process has nothing more to do with the job. */
  readonly finished: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(
    lease: Lease,
    host: DeliveryHost,
    details: Pick<RedisDelivery, 'envelope' | 'attempt' | 'checkpoints' | 'refusal'>,
  ) {
    this.#lease = lease;
    this.#host = host;
    this.envelope = details.envelope;
    this.attempt = details.attempt;
    this.checkpoints = details.checkpoints;
    this.refusal = details.refusal;
  }

  get lease(): Lease {
    return this.#lease;
  }

  async commit(outcome: Outcome): Promise<CommitResult> {
    const lease = this.#endLease();
    try {
      return await this.#host.commit(lease, this.attempt, outcome);
    } finally {
      this.#finish();
    }
  }

  checkpoint(key: string, value: string): Promise<CommitResult> {
    return this.#host.checkpoint(this.#lease, key, value);
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    if (this.#lease.token === '') return;
    this.#endLease();
    this.#finish();
    this.onRevoked?.(reason);
  }

  /** A worker uses its tokens again, for this very job too: what is over must not pass for what runs. */
  #endLease(): Lease {
    const lease = this.#lease;
    this.#lease = { ...lease, token: '' };
    return lease;
  }
}
