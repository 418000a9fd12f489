import type {
  CommitResult,
  Delivery,
  Envelope,
  Offer,
  Outcome,
  RevokedCallback,
  RunWait,
  TransactionRecord,
  Verdict,
} from '../../delivery.js';
import { CrashLoopError, TransportUnavailableError } from '../../errors.js';
import type { Argument } from '../connection/database.js';
import { type Fields, itemOf, readFields, readList, readNumber, unexpected } from '../connection/fields.js';
import {
  envelopeFields,
  readEntries,
  readOffers,
  readResult,
  type StoredEvent,
  waitFields,
} from '../reads/stored-events.js';
import { type HandlerTransaction, runTransaction } from '../transactions/handler-transaction.js';
import type { OutcomeRecorder } from './outcome-recorder.js';

// A server that was lost needs some time.
const releaseDelayMs = 1_000;

/** Event whose attempt is leased to this process. */
export type LeasedEvent = Pick<
  StoredEvent,
  'envelope' | 'seq' | 'token' | 'queue' | 'attempt' | 'crashes' | 'isCause' | 'isAdmitted' | 'isRun' | 'checkpoints'
>;

/** Returns an event that was leased with its acceptance: what the reply leaves out is that of a first attempt. */
export function acceptedEvent(lease: unknown, envelopes: readonly Envelope[]): LeasedEvent {
  const [index, seq, token, queue, isRun] = readList(lease);
  const envelope = envelopes[readNumber(index)];
  if (envelope === undefined) throw unexpected('the place of an event', index);
  return {
    ...{ envelope, seq: readNumber(seq), token: readNumber(token), queue: readNumber(queue), isRun: isRun === true },
    ...{ attempt: 1, crashes: 0, isCause: false, isAdmitted: false, checkpoints: new Map() },
  };
}

/** Attempt that is leased to this process until it commits or the lease is lost. */
export class PostgresDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  readonly isAdmitted: boolean;
  readonly seq: number;
  readonly token: number;
  readonly queue: number;
  readonly crashes: number;
  readonly isRun: boolean;
  onRevoked: RevokedCallback | undefined;
  onRecorded: Delivery['onRecorded'];
  onOffered: Delivery['onOffered'];
  offers: readonly Offer[];
  readonly #recorder: OutcomeRecorder;
  #known: number;
  #isLeased = true;
  /** Calls whose effects an outcome must follow. */
  #calls: Promise<unknown> = Promise.resolve();
  #open = 0;
  #overdue: Promise<void> | undefined;
  #holdsSlot = false;
  #hasReturned = false;
  #mayBeReady = true;
  #finish = (): void => {};
  /** Resolves when the outcome is recorded, or the lease has ended. */
  readonly finished: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(event: LeasedEvent, offers: readonly Offer[], recorder: OutcomeRecorder, maxCrashes: number) {
    const { seq, token, queue, isRun, crashes, isCause } = event;
    this.envelope = event.envelope;
    this.attempt = event.attempt;
    this.isAdmitted = event.isAdmitted;
    this.checkpoints = event.checkpoints;
    this.crashes = crashes;
    this.refusal = isCause && crashes >= maxCrashes ? new CrashLoopError(event.envelope.type, crashes) : undefined;
    this.offers = offers;
    this.seq = seq;
    this.token = token;
    this.queue = queue;
    this.isRun = isRun;
    this.#recorder = recorder;
    this.#known = event.checkpoints.size;
  }

  /** Number of entries that the delivery has read. */
  get knownEntries(): number {
    return this.#known;
  }

  get isLeased(): boolean {
    return this.#isLeased;
  }

  /** The outcome is on its way. */
  get isCommitting(): boolean {
    return !this.#isLeased;
  }

  /** The handler has returned, and the outcome is on its way: nothing runs any more. */
  get hasReturned(): boolean {
    return this.#hasReturned;
  }

  /** Pending while the handler runs although the attempt has its outcome; `undefined` if it returned before. */
  get overdue(): Promise<void> | undefined {
    return this.#overdue;
  }

  /** The slots of its type and its key are free when the handler has returned and the process says so. */
  get holdsSlot(): boolean {
    return this.#holdsSlot;
  }

  /** The event has not ended, and may be ready again. */
  get mayBeReady(): boolean {
    return this.#mayBeReady;
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    const token = this.#takeToken();
    this.#overdue = handlerEnd;
    this.#hasReturned = handlerEnd === undefined && token !== 0;
    try {
      if (this.#open > 0) await this.#calls;
      const queue = this.isRun ? undefined : this.queue;
      const result = await this.#recorder.conclude(this.seq, token, outcome, handlerEnd !== undefined, queue);
      this.#mayBeReady = outcome.status !== 'completed' && outcome.status !== 'failed';
      // Another outcome may have been recorded first, while the handler ran.
      this.#holdsSlot = (handlerEnd !== undefined && !this.isRun) || (token !== 0 && result !== 'ok');
      return result;
    } finally {
      this.#finish();
    }
  }

  async admit(): Promise<CommitResult> {
    const token = this.#token;
    return this.#inOrder(async () => readResult(await this.#recorder.database.call('admit', [this.seq, token])));
  }

  async checkpoint(key: string, value: string, emits: readonly Envelope[] = []): Promise<CommitResult> {
    const token = this.#token;
    return this.#inOrder(async () => {
      const args = this.#checkpointOf(token, key, value, emits);
      const { result, entries } = readFields(await this.#recorder.persist('checkpoint', args));
      this.#add(entries);
      return readResult(result);
    });
  }

  readonly transact: NonNullable<Delivery['transact']> = async (work, settings) => {
    const token = this.#token;
    const { database } = this.#recorder;
    let handlerEnd: Promise<void> | undefined;
    try {
      return await runTransaction(database, settings, async (tx) => {
        const record = await work(tx.client);
        if ('outcome' in record) handlerEnd = record.handlerEnd;
        return this.#inOrder(() => this.#commitWith(tx, record, token));
      });
    } catch (error) {
      if (this.isRun || !(error instanceof TransportUnavailableError)) throw error;
      return this.#releaseAfter(error, handlerEnd);
    }
  };

  async #commitWith(tx: HandlerTransaction, record: TransactionRecord, token: number): Promise<CommitResult> {
    const isOutcome = 'outcome' in record;
    const reply = await (isOutcome
      ? tx.call('conclude', this.#recorder.argumentsOf(this.seq, token, record.outcome))
      : tx.call('checkpoint', this.#checkpointOf(token, record.key, record.value, record.emits)));
    const { result: recorded, entries = [] } = isOutcome ? { result: itemOf(reply, 0) } : readFields(reply);
    const result = readResult(recorded);
    if (result !== 'ok') {
      await tx.rollback();
      return result;
    }
    await tx.commit();
    if (isOutcome) this.#endWith(record.handlerEnd);
    else this.#add(entries);
    return result;
  }

  /** The outcome is recorded, while the handler runs on. */
  #endWith(handlerEnd: Promise<void>): void {
    this.#takeToken();
    this.#overdue = handlerEnd;
    this.#holdsSlot = true;
    this.#finish();
  }

  /** Returns the event, unless its transaction has committed. */
  async #releaseAfter(error: Error, handlerEnd: Promise<void> | undefined): Promise<CommitResult> {
    const { database } = this.#recorder;
    try {
      const released = { status: 'released', durationMs: 0, delayMs: releaseDelayMs } as const;
      // It follows the end of a transaction that is still open on the server.
      const result = await this.#recorder.conclude(this.seq, this.#token, released, true);
      const isCommitted = result === 'already' && (await database.call('is_completed', [this.seq])) === true;
      if (isCommitted && handlerEnd !== undefined) {
        this.#endWith(handlerEnd);
        return 'ok';
      }
    } catch {
      // It is released with its lease.
    }
    this.revoke(error);
    throw error;
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    const token = this.#token;
    return this.#inOrder(async () => {
      const args = [this.seq, token, JSON.stringify(waits.map(waitFields)), this.#recorder.service];
      const result = readResult(await this.#recorder.persist('add_waits', args));
      const delays = waits.flatMap(({ delayMs }) => delayMs ?? []);
      if (delays.length > 0) this.#recorder.wakeIn(delays.reduce((a, b) => Math.min(a, b)));
      return result;
    });
  }

  #checkpointOf(token: number, key: string, value: string, emits: readonly Envelope[]): readonly Argument[] {
    const emitted = JSON.stringify(emits.map(envelopeFields));
    return [this.seq, token, this.#known, key, value, emitted, this.#recorder.service];
  }

  async decide({ kept, wait }: Offer, verdict: Verdict): Promise<CommitResult> {
    const token = this.#token;
    return this.#inOrder(async () => {
      const entry = verdict.status === 'failed' ? verdict.entry : null;
      const args = [this.seq, token, this.#known, kept, wait ?? null, verdict.status, entry];
      const { result, ...news } = readFields(await this.#recorder.persist('decide', args));
      if (this.#isLeased) this.#learn(news);
      return readResult(result);
    });
  }

  /** Reads what the transport has recorded for the run. */
  readNewEntries(): void {
    if (!this.#isLeased) return;
    this.#inOrder(async () => {
      const news = readFields(await this.#recorder.database.call('news_json', [this.seq, this.#known]));
      if (this.#isLeased) this.#learn(news);
    }).catch(() => {
      // The lease is lost with the connection, and the next delivery reads all entries.
    });
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    if (!this.#isLeased) return;
    this.#takeToken();
    this.#holdsSlot = true;
    this.#overdue = this.onRevoked?.(reason);
    this.#finish();
  }

  /** Of a lease that has ended no row has the token. */
  get #token(): number {
    return this.#isLeased ? this.token : 0;
  }

  #takeToken(): number {
    const token = this.#token;
    this.#isLeased = false;
    return token;
  }

  /** One call at a time: each knows what the one before it has returned. */
  async #inOrder<T>(call: () => Promise<T>): Promise<T> {
    this.#open += 1;
    const result = this.#calls.then(call, call);
    this.#calls = result.catch(() => {});
    try {
      return await result;
    } finally {
      this.#open -= 1;
    }
  }

  #learn({ entries, offers }: Fields): void {
    this.offers = readOffers(offers);
    this.#add(entries);
    if (this.offers.length > 0) this.onOffered?.();
  }

  #add(entries: unknown): void {
    for (const [key, value] of readEntries(entries)) {
      this.#known += 1;
      this.onRecorded?.(key, value);
    }
  }
}
