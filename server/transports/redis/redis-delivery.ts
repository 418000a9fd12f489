import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../transport.js';
import { suspensionUnsupported } from './suspension-unsupported.js';

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

/** An outcome that is being recorded. */
export interface Commit {
  /** Resolves when it is on its way: Redis gets it before whatever is asked next. */
  readonly sent: Promise<void>;
  readonly result: Promise<CommitResult>;
}

/** Where a delivery's results go. */
export interface DeliveryHost {
  commit(lease: Lease, attempt: number, outcome: Outcome): Commit;
  checkpoint(lease: Lease, key: string, value: string): Promise<CommitResult>;
}

/** One attempt, leased to this process until it commits or the lease is lost. */
export class RedisDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  onRevoked: ((reason: Error) => void) | undefined;
  onRecorded: Delivery['onRecorded'];
  readonly #host: DeliveryHost;
  #lease: Lease;
  #handOn = (): void => {};
  #finish = (): void => {};
  /** Resolves when the next job may be asked for: the outcome is on its way, or the lease is over. */
  readonly handedOn: Promise<void> = new Promise((resolve) => {
    this.#handOn = resolve;
  });
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
    const { sent, result } = this.#host.commit(this.#endLease(), this.attempt, outcome);
    void sent.then(this.#handOn);
    try {
      return await result;
    } finally {
      this.#finish();
    }
  }

  async checkpoint(key: string, value: string, emits: readonly Envelope[] = []): Promise<CommitResult> {
    if (emits.length > 0) throw suspensionUnsupported();
    const result = await this.#host.checkpoint(this.#lease, key, value);
    if (result === 'ok') this.onRecorded?.(key, value);
    return result;
  }

  async wait(_waits: readonly RunWait[]): Promise<CommitResult> {
    throw suspensionUnsupported();
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    if (this.#lease.token === '') return;
    this.#endLease();
    this.#handOn();
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
