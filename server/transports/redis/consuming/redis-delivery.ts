import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transport.js';
import type { Lease } from '../outcomes/lease.js';
import type { LeaseRecorder } from '../outcomes/lease-recorder.js';
import { suspensionUnsupported } from '../suspension-unsupported.js';

/** Attempt that is leased to this process until it commits or the lease is lost. */
export class RedisDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  onRevoked: ((reason: Error) => void) | undefined;
  onRecorded: Delivery['onRecorded'];
  readonly #recorder: LeaseRecorder;
  #lease: Lease;
  #overdue: Promise<void> | undefined;
  #isAbandoned = false;
  #freeSlot = (): void => {};
  #finish = (): void => {};
  /** Resolves when the worker may take the next job: the outcome was sent and the handler returned, or the lease ended. */
  readonly slotFree: Promise<void> = new Promise((resolve) => {
    this.#freeSlot = resolve;
  });
  /** Resolves when the outcome is recorded, or the lease has ended. */
  readonly finished: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(
    lease: Lease,
    recorder: LeaseRecorder,
    details: Pick<RedisDelivery, 'envelope' | 'attempt' | 'checkpoints' | 'refusal'>,
  ) {
    this.#lease = lease;
    this.#recorder = recorder;
    this.envelope = details.envelope;
    this.attempt = details.attempt;
    this.checkpoints = details.checkpoints;
    this.refusal = details.refusal;
  }

  get lease(): Lease {
    return this.#lease;
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    const lease = this.#lease;
    const { sent, reply } = this.#recorder.commit(lease, this.attempt, outcome, handlerEnd !== undefined);
    this.#endLease();
    if (handlerEnd === undefined) void sent.then(this.#freeSlot);
    else this.#overdue = this.#keepSlot(lease, handlerEnd, reply);
    try {
      return await reply;
    } finally {
      this.#finish();
    }
  }

  /** Pending while the handler runs although the attempt has its outcome; `undefined` if it returned before. */
  get overdue(): Promise<void> | undefined {
    return this.#overdue;
  }

  /** Frees the slot of this process although the handler runs. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#freeSlot();
  }

  /** Keeps the slot of this process, and that of the type in Redis, until the handler returns. */
  async #keepSlot(lease: Lease, handlerEnd: Promise<void>, reply: Promise<CommitResult>): Promise<void> {
    await Promise.allSettled([handlerEnd, reply]);
    this.#freeSlot();
    // The settlement after the end of this process frees what it abandoned.
    if (!this.#isAbandoned) await this.#recorder.freeSlot(lease);
  }

  async checkpoint(key: string, value: string, emits: readonly Envelope[] = []): Promise<CommitResult> {
    if (emits.length > 0) throw suspensionUnsupported();
    const result = await this.#recorder.checkpoint(() => this.#lease, key, value);
    if (result !== 'fenced') this.onRecorded?.(key, value);
    return result;
  }

  async wait(_waits: readonly RunWait[]): Promise<CommitResult> {
    throw suspensionUnsupported();
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    if (this.#lease.token === '') return;
    this.#endLease();
    this.#freeSlot();
    this.#finish();
    this.onRevoked?.(reason);
  }

  #endLease(): void {
    this.#lease = { ...this.#lease, token: '' };
  }
}
