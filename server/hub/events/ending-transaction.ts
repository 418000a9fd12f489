import { OptionChecker } from '../../options.js';
import type { Delivery, SqlTransaction, TransactionRecord, TransactionSettings } from '../../transports/delivery.js';
import { LeaseLostError, TransactionUnsupportedError, TransportUnavailableError } from '../../transports/errors.js';
import { AttemptEndedError } from '../errors.js';
import type { AttemptEmitter } from './attempt-ctx.js';
import type { CtxTransaction } from './context.js';

const isolations = ['read committed', 'repeatable read', 'serializable'];

/** Attempt that a transaction can end. */
export interface EndedAttempt {
  /** Transport of the hub. */
  readonly transport: string;
  readonly delivery: Pick<Delivery, 'transact'>;
  readonly emitter: AttemptEmitter;
  /** The attempt has ended otherwise. */
  readonly isOver: boolean;
  /** Returns what is recorded for the result of the callback, with the events that the attempt has emitted. */
  record(value: unknown): TransactionRecord | Promise<TransactionRecord>;
  /** The record is committed. */
  onCommitted(): void;
  /** The transport does not know whether it is. */
  onLost(error: unknown): void;
}

/** Transaction with which an attempt ends: the writes of the user and the record of the end commit together. */
export class EndingTransaction {
  readonly #attempt: EndedAttempt;
  #isOpen = false;
  #isCommitted = false;
  /** Pending while the record is on its way. */
  #recording: Promise<void> | undefined;
  #recorded = (): void => {};

  constructor(attempt: EndedAttempt) {
    this.#attempt = attempt;
  }

  get isCommitted(): boolean {
    return this.#isCommitted;
  }

  /** Calls `next` at once, or when it is known whether a record that is on its way is committed. */
  settle(next: () => void): void {
    if (this.#recording === undefined) next();
    else void this.#recording.then(() => this.settle(next));
  }

  readonly run: CtxTransaction = async <T, TClient extends SqlTransaction>(
    work: (client: TClient) => T,
    settings: TransactionSettings = {},
  ): Promise<Awaited<T>> => {
    const { transport, delivery, emitter } = this.#attempt;
    const check = new OptionChecker(settings, ['isolation'], 'transaction');
    check.required('work', work);
    check.function('work', work);
    const { isolation = 'read committed' } = settings;
    check.that(isolations.includes(isolation), 'isolation', `one of ${isolations.join(', ')}`, isolation);
    const { transact } = delivery;
    if (transact === undefined) throw new TransactionUnsupportedError('ctx.transaction', transport);
    if (this.#isOpen || this.#isCommitted) throw new AttemptEndedError('ctx.transaction');
    this.#checkOpen();
    this.#isOpen = true;
    const emitted = emitter.mark();
    let result: { readonly value: Awaited<T> } | undefined;
    let thrown: { readonly error: unknown } | undefined;
    try {
      const recorded = await transact(async (client) => {
        // Another transaction took its place: what it emitted has no effect.
        this.#end();
        emitter.rewind(emitted);
        try {
          // The transport passes a client of its own, which has the type that the callback declares.
          const value = await work(client as TClient);
          this.#checkOpen();
          const record = await this.#attempt.record(value);
          this.#checkOpen();
          this.#recording = new Promise((resolve) => {
            this.#recorded = resolve;
          });
          result = { value };
          return record;
        } catch (error) {
          thrown = { error };
          throw error;
        }
      }, settings);
      if (recorded !== 'ok' || result === undefined) throw new LeaseLostError();
      this.#isCommitted = true;
      this.#attempt.onCommitted();
      return result.value;
    } catch (error) {
      if (!this.#attempt.isOver) emitter.rewind(emitted);
      if (error instanceof TransportUnavailableError && error !== thrown?.error) this.#attempt.onLost(error);
      throw error;
    } finally {
      this.#isOpen = false;
      this.#end();
    }
  };

  #end(): void {
    this.#recording = undefined;
    this.#recorded();
  }

  #checkOpen(): void {
    if (this.#attempt.isOver) throw new AttemptEndedError('ctx.transaction');
  }
}
