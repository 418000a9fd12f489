import type { Redis } from 'ioredis';
import { maxTimeoutMs } from '../../clock.js';
import type {
  CommitResult,
  Delivery,
  Envelope,
  Offer,
  Outcome,
  RevokedCallback,
  RunWait,
  Verdict,
} from '../../delivery.js';
import { TickBatch } from '../../tick-batch.js';
import { readArray, readHash, readNumber, readOptional, readString } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { argumentBatches } from '../connection/script-limits.js';
import { runKeyOf } from '../names.js';
import { readCheckpoints, readOffers } from '../runs/stored-runs.js';
import { type Lease, type LeaseCheckpoint, type LeaseRecorder, leaseArguments } from './lease-recorder.js';

/** Parts of a delivery that the job and its run determine. */
interface DeliveryDetails {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  readonly isAdmitted: boolean;
  /** Milliseconds until the first open wait of the run resolves by time. */
  readonly dueInMs?: number | undefined;
  readonly offers?: readonly Offer[] | undefined;
}

/** Attempt that is leased to this process until it commits or the lease is lost. */
export class RedisDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly refusal: Error | undefined;
  readonly isAdmitted: boolean;
  onRevoked: RevokedCallback | undefined;
  onRecorded: Delivery['onRecorded'];
  onOffered: Delivery['onOffered'];
  offers: readonly Offer[];
  readonly #recorder: LeaseRecorder;
  readonly #entries: KnownEntries;
  /** One call at a time: each knows what the one before it has returned, and returns only what is new. */
  readonly #checkpoints: TickBatch<HeldCheckpoint, CommitResult> = new TickBatch<HeldCheckpoint, CommitResult>(
    argumentBatches,
    async (checkpoints) => {
      const known = this.#entries.count;
      // An outcome that follows in the same turn ends the lease here, but reaches Redis after this call.
      let held = checkpoints[0]?.lease;
      const lease = (): Lease => {
        const current = held ?? this.#lease;
        held = undefined;
        return current;
      };
      const { results, entries } = await this.#recorder.checkpoint(lease, known, checkpoints);
      this.#entries.add(known, entries);
      return results;
    },
    { oneAtATime: true },
  );
  #lease: Lease;
  #overdue: Promise<void> | undefined;
  #isAbandoned = false;
  #timer: NodeJS.Timeout | undefined;
  #timerDueAt = Number.POSITIVE_INFINITY;
  #freeSlot = (): void => {};
  #finish = (): void => {};
  /** Resolves when the worker may take the next job: there is an outcome and the handler returned, or the lease ended. */
  readonly slotFree: Promise<void> = new Promise((resolve) => {
    this.#freeSlot = resolve;
  });
  /** Resolves when the outcome is recorded, or the lease has ended. */
  readonly finished: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(lease: Lease, recorder: LeaseRecorder, details: DeliveryDetails) {
    this.#lease = lease;
    this.#recorder = recorder;
    this.envelope = details.envelope;
    this.attempt = details.attempt;
    this.checkpoints = details.checkpoints;
    this.refusal = details.refusal;
    this.isAdmitted = details.isAdmitted;
    this.#entries = new KnownEntries(details.checkpoints.size, (key, value) => this.onRecorded?.(key, value));
    this.offers = details.offers ?? [];
    this.#readWhenDue(details.dueInMs);
  }

  get lease(): Lease {
    return this.#lease;
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    const lease = this.#lease;
    const reply = this.#recorder.commit(lease, this, outcome, handlerEnd !== undefined && !lease.retainsRuns);
    this.#endLease();
    // The fetch that follows is sent after the outcome.
    if (this.#overdue === undefined) {
      if (handlerEnd === undefined) this.#freeSlot();
      else this.#overdue = this.#keepSlot(lease, handlerEnd, reply);
    }
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

  /** Keeps the slot of this process, and that of the type in Redis unless it is a run, until the handler returns. */
  async #keepSlot(lease: Lease, handlerEnd: Promise<void>, reply?: Promise<CommitResult>): Promise<void> {
    await Promise.allSettled([handlerEnd, reply]);
    this.#freeSlot();
    // The rebalance after the end of this process frees what it abandoned.
    if (!this.#isAbandoned && !lease.retainsRuns) await this.#recorder.freeSlot(lease);
  }

  async checkpoint(key: string, value: string, emits: readonly Envelope[] = []): Promise<CommitResult> {
    const checkpoint = this.#recorder.checkpointOf(key, value, emits);
    this.#entries.addOwn(key, value);
    return this.#checkpoints.add({ ...checkpoint, lease: this.#lease });
  }

  admit(): Promise<CommitResult> {
    return this.#recorder.admit(() => this.#lease);
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    const result = await this.#recorder.wait(() => this.#lease, waits);
    for (const { delayMs } of waits) this.#readWhenDue(delayMs);
    return result;
  }

  async decide(offer: Offer, verdict: Verdict): Promise<CommitResult> {
    const { result, offers } = await this.#recorder.decide(() => this.#lease, offer, verdict);
    if (this.#isLeased) this.#learnOffers(offers);
    return result;
  }

  /** Reads what the transport has recorded for the run. */
  readNewEntries(isTimed = false): void {
    if (!this.#isLeased) return;
    const known = this.#entries.count;
    this.#recorder.newEntries(this.#lease, known, isTimed).then(
      ({ entries, dueInMs, offers }) => {
        if (!this.#isLeased) return;
        this.#entries.add(known, entries);
        this.#learnOffers(offers);
        if (isTimed) this.#readWhenDue(dueInMs);
      },
      // The lease is lost with the connection, and the next delivery reads all entries.
      () => {},
    );
  }

  #learnOffers(offers: readonly Offer[]): void {
    this.offers = offers;
    if (offers.length > 0) this.onOffered?.();
  }

  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void {
    if (!this.#isLeased) return;
    this.#endLease();
    this.#freeSlot();
    this.#finish();
    void this.onRevoked?.(reason);
  }

  /**
   * Ends the lease, after another process has recorded the outcome. The slots of this process, of the type and of the
   * key, which Redis keeps for the lease, are free when the handler has returned.
   */
  interrupt(reason: Error): void {
    if (!this.#isLeased) return;
    const lease = this.#lease;
    this.#endLease();
    this.#overdue = this.#keepSlot({ ...lease, retainsRuns: false }, this.onRevoked?.(reason) ?? Promise.resolve());
    this.#finish();
  }

  get #isLeased(): boolean {
    return this.#lease.token !== '';
  }

  #readWhenDue(dueInMs: number | undefined): void {
    if (dueInMs === undefined || !this.#isLeased) return;
    const dueAt = performance.now() + dueInMs;
    if (dueAt >= this.#timerDueAt) return;
    clearTimeout(this.#timer);
    this.#timerDueAt = dueAt;
    this.#timer = setTimeout(
      () => {
        this.#timerDueAt = Number.POSITIVE_INFINITY;
        this.readNewEntries(true);
      },
      Math.min(dueInMs + 1, maxTimeoutMs),
    );
  }

  #endLease(): void {
    this.#lease = { ...this.#lease, token: '' };
    clearTimeout(this.#timer);
  }
}

/** Entry with the lease under which it was recorded. */
interface HeldCheckpoint extends LeaseCheckpoint {
  readonly lease: Lease;
}

/** Entries of a run that its delivery knows, in the order of recording. */
class KnownEntries {
  /** Values that this delivery records. Redis does not send them back. */
  readonly #own = new Map<string, string>();
  readonly #onRecorded: (key: string, value: string) => void;
  #count: number;

  constructor(count: number, onRecorded: (key: string, value: string) => void) {
    this.#count = count;
    this.#onRecorded = onRecorded;
  }

  get count(): number {
    return this.#count;
  }

  addOwn(key: string, value: string): void {
    this.#own.set(key, value);
  }

  /** Adds the entries of a reply that are new. Replies overlap, because several requests are under way. */
  add(from: number, reply: unknown): void {
    const flat = readArray(reply);
    for (let i = 0; i + 1 < flat.length; i += 2) {
      if (from + i / 2 !== this.#count) continue;
      const key = readString(flat[i]);
      const value = readOptional(flat[i + 1], readString) ?? this.#own.get(key) ?? '';
      this.#own.delete(key);
      this.#count += 1;
      this.#onRecorded(key, value);
    }
  }
}

/** Record of a run as a delivery begins with it. */
export interface LoadedRun extends Pick<DeliveryDetails, 'checkpoints' | 'dueInMs' | 'offers'> {
  /** An entry was recorded while the run was read. */
  readonly isStale: boolean;
}

/** Messages about a run that arrived while it was read. */
interface Noted {
  isStale: boolean;
}

/** Loads the records of runs before their deliveries, and notes the entries that are recorded meanwhile. */
export class RunLoader {
  readonly #connection: Redis;
  readonly #prefix: string;
  readonly #reading = new Map<string, Noted>();

  constructor(connection: Redis, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** Loads a run. Returns `undefined` if its lease was lost. */
  async load(lease: Lease, isHeld: () => Promise<boolean>): Promise<LoadedRun | undefined> {
    const runKey = runKeyOf(lease.serviceType, lease.jobId);
    const noted: Noted = { isStale: false };
    this.#reading.set(runKey, noted);
    try {
      const record = await this.#loadRecord(lease);
      if (record === undefined || !(await isHeld())) return undefined;
      return { ...record, isStale: noted.isStale };
    } finally {
      this.#reading.delete(runKey);
    }
  }

  /** Notes that an entry of a run was recorded. Returns `false` if the run is not being read. */
  noteEntry(serviceType: string, jobId: string): boolean {
    const noted = this.#reading.get(runKeyOf(serviceType, jobId));
    if (noted !== undefined) noted.isStale = true;
    return noted !== undefined;
  }

  /** Notes that entries of all runs may have been recorded. */
  noteAll(): void {
    for (const noted of this.#reading.values()) noted.isStale = true;
  }

  async #loadRecord(lease: Lease): Promise<Omit<LoadedRun, 'isStale'> | undefined> {
    const reply = await scripts.loadRun.run(this.#connection, this.#prefix, leaseArguments(lease));
    if (reply === null) return undefined;
    const [checkpoints, outputs, dueInMs, offers] = readArray(reply);
    return {
      checkpoints: readCheckpoints(readHash(checkpoints), readHash(outputs)),
      dueInMs: readOptional(dueInMs, readNumber),
      offers: readOffers(offers),
    };
  }
}
