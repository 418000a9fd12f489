import { HubError } from '../../../errors.js';
import type { Clock, Timer } from '../../clock.js';
import { BackpressureError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import { reasonOf, unavailable, unreadable } from '../sqlite-errors.js';
import type { Database } from './driver.js';
import type { Checkpoints } from './log-checkpoints.js';
import type { OwnedDatabase } from './open-database.js';

/** Stored event that cannot be used. */
interface DamagedEvent {
  readonly service: string;
  readonly eventType: string;
  /** Number of its row. */
  readonly position: number | undefined;
}

/** Applies changes to the state in memory and to the file. */
export interface Commits {
  /** The file has the state in memory. */
  readonly isStored: boolean;
  /**
   * Applies a change to the state in memory, and rejects if it cannot be stored now.
   *
   * @param bytes size of the payloads that the change holds until it is applied
   * @throws {TransportUnavailableError | BackpressureError} as a rejection
   */
  change<T>(apply: () => T, bytes?: number): Promise<T>;
  /** Applies a change to the state in memory, as soon as it can be stored. */
  settle<T>(apply: () => T): Promise<T>;
  /**
   * Applies a change that no caller waits for, as soon as it can be stored, and calls `stored` then. The change is lost
   * if the process ends before.
   */
  settleLater(apply: () => void, stored?: () => void): void;
  /** Applies a change to the database alone. @param bytes size of the values that the change holds until then */
  write<T>(apply: () => T, bytes?: number): Promise<T>;
  /** Calls `fn` when the changes that are applied now are stored. */
  afterStored(fn: () => void): void;
  /** Halts everything for a time that grows until {@link resume}, because a read of `reader` failed. */
  suspend(reader: object, error: unknown): void;
  /** Reports that a read of `reader` succeeded. */
  resume(reader: object): void;
  /** Reports a stored event that cannot be used. */
  reportDamage(event: DamagedEvent): void;
  /** Returns the error for a caller whose read failed. */
  unreadable(error: unknown): Error;
}

/** State that a {@link Commits} writes. */
export interface CommittedState {
  /** Number of rows to write, by their size. */
  readonly rows: number;
  /** Writes what changed, in the open transaction. */
  write(): void;
  /** Called after the transaction is committed. */
  markWritten(): void;
}

/**
 * Kind of a command: `change` and `settle` change the state in memory, `write` changes the database alone. A caller can
 * repeat a `change` or a `write`, and nobody a `settle`.
 */
type Kind = 'change' | 'settle' | 'write';

interface Command {
  readonly kind: Kind;
  readonly apply: () => unknown;
  readonly bytes: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Callbacks of an applied change. */
interface Waiting {
  /** Called when the change is stored. */
  readonly done: () => void;
  /** Rejects the promise of the caller. */
  readonly reject?: (error: unknown) => void;
  /** The caller can repeat the change, and learns at once that it is not stored; the others wait on. */
  readonly kind?: Kind;
}

const firstRetryMs = 100;
const maxRetryMs = 5_000;

/**
 * Applies changes and stores them: all that callers ask for within one turn of the event loop in one transaction.
 * Between transactions the state in memory equals the stored one. If a transaction fails, its changes stay in memory and
 * are stored when the disk works again; until then nothing starts, and new changes are refused.
 */
export class Committer implements Commits {
  readonly #database: Database;
  readonly #checkPresence: () => void;
  readonly #checkpoints: Checkpoints;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #state: CommittedState | undefined;
  #queue: Command[] = [];
  readonly #waitingChanges = new WaitingChanges();
  #waiting: Waiting[] = [];
  /** Callbacks of stored changes that are called in the next turn. */
  #stored: Waiting[] | undefined;
  readonly #budget = new TransactionBudget();
  #next: Timer | undefined;
  #retryMs = firstRetryMs;
  #failure: unknown;
  #isWriteFailing = false;
  readonly #failingReaders = new Set<object>();
  #isApplying = false;
  /** The log of the file has to be copied before the next transaction. */
  #isLogFull = false;
  #isClosed = false;
  #sqlError: unknown;

  constructor({ database, path, checkPresence, checkpoints }: OwnedDatabase, clock: Clock, logger: Logger) {
    this.#database = database;
    this.#file = path;
    this.#checkPresence = checkPresence;
    this.#checkpoints = checkpoints;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Sets the state that each transaction writes. */
  set state(state: CommittedState) {
    this.#state = state;
  }

  get isStored(): boolean {
    return !this.#isApplying && this.#failure === undefined;
  }

  change<T>(apply: () => T, bytes?: number): Promise<T> {
    return this.#enqueue(apply, 'change', bytes);
  }

  settle<T>(apply: () => T): Promise<T> {
    return this.#enqueue(apply, 'settle');
  }

  settleLater(apply: () => void, stored: () => void = () => {}): void {
    void this.settle(apply).then(stored, (error) => {
      // The next process finds the state from before the change.
      if (!this.#isClosed) throw error;
    });
  }

  write<T>(apply: () => T, bytes?: number): Promise<T> {
    return this.#enqueue(apply, 'write', bytes);
  }

  afterStored(fn: () => void): void {
    if (this.isStored) fn();
    else this.#waiting.push({ done: fn });
  }

  suspend(reader: object, error: unknown): void {
    if (this.#isClosed) return;
    if (this.#failingReaders.size === 0) {
      this.#logger.error({ file: this.#file, reason: reasonOf(error) }, 'the file cannot be read');
    }
    this.#failingReaders.add(reader);
    this.#fail(error);
  }

  resume(reader: object): void {
    if (!this.#failingReaders.delete(reader) || this.#failingReaders.size > 0) return;
    this.#logger.info({ file: this.#file }, 'the file can be read again');
    if (this.#failure === undefined) this.#retryMs = firstRetryMs;
  }

  reportDamage(event: DamagedEvent): void {
    this.#logger.error(
      { file: this.#file, ...event },
      'a stored event is damaged: no event of its type starts; restore a backup, or delete its row of spilled_events while no process uses the file',
    );
  }

  unreadable(error: unknown): Error {
    return unreadable(this.#file, error);
  }

  /** Stores everything and ends. Rejects the changes that cannot be stored. */
  close(): void {
    while (this.#queue.length > 0 && this.#failure === undefined) this.#commit();
    // Stores changes without a command, such as evictions.
    this.#commit();
    this.#reportStored();
    this.#next?.cancel();
    this.#next = undefined;
    this.#isClosed = true;
    const error = unavailable(this.#file, true, this.#failure);
    for (const { reject } of [...this.#waiting, ...this.#queue]) reject?.(error);
    this.#waiting = [];
    this.#queue = [];
  }

  #enqueue<T>(apply: () => T, kind: Kind, bytes = 0): Promise<T> {
    // A delivery has lost its lease by now, so that its commit changes nothing.
    if (this.#isClosed && kind === 'settle') return new Promise((resolve) => resolve(apply()));
    if ((this.#isClosed || this.#failure !== undefined) && kind !== 'settle') {
      return Promise.reject(unavailable(this.#file, false, this.#failure));
    }
    const refusal = kind === 'settle' ? undefined : this.#waitingChanges.refusal(this.#queue.length, bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ kind, apply, bytes, resolve, reject });
      this.#waitingChanges.add(bytes);
      this.#schedule();
    });
  }

  #schedule(): void {
    // That what follows the last transaction and the next one share no turn.
    if (this.#stored === undefined && !this.#isLogFull) this.#next ??= this.#clock.soon(() => this.#commitNext());
  }

  #commitNext(): void {
    this.#next = undefined;
    this.#commit();
    this.#continue();
  }

  #commit(): void {
    this.#reportStored();
    this.#isApplying = true;
    try {
      this.#checkPresence();
      this.#budget.begin();
      // Another process may write between a read of this transaction and its first write.
      this.#database.exec('BEGIN IMMEDIATE');
      this.#applyQueued();
      if (this.#sqlError !== undefined) throw this.#sqlError;
      this.#write();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#sqlError = undefined;
      this.#isApplying = false;
      if (!this.#isWriteFailing) {
        this.#logger.error({ file: this.#file, reason: reasonOf(error) }, 'the file cannot be written');
      }
      this.#isWriteFailing = true;
      this.#fail(error);
      return;
    }
    this.#awaitLog(this.#checkpoints.transactionEnded());
    this.#state?.markWritten();
    this.#isApplying = false;
    if (this.#isWriteFailing) this.#logger.info({ file: this.#file }, 'the file can be written again');
    this.#isWriteFailing = false;
    this.#failure = undefined;
    // That a transaction can be written does not show that the file can be read.
    if (this.#failingReaders.size === 0) this.#retryMs = firstRetryMs;
    this.#stored = this.#waiting;
    this.#waiting = [];
    if (this.#budget.wasLong) this.#clock.soon(() => this.#reportStored());
    else this.#reportStored();
  }

  /** Calls back for the changes of the last transaction. */
  #reportStored(): void {
    const stored = this.#stored;
    if (stored === undefined) return;
    this.#stored = undefined;
    for (const { done } of stored) done();
    this.#continue();
  }

  #awaitLog(copied: Promise<void> | undefined): void {
    if (copied === undefined) return;
    this.#isLogFull = true;
    void copied.then(() => {
      this.#isLogFull = false;
      this.#continue();
    });
  }

  #continue(): void {
    if (this.#queue.length > 0 && this.#failure === undefined && !this.#isClosed) this.#schedule();
  }

  /** Applies commands until the time of the turn is over; none while the storage fails. */
  #applyQueued(): void {
    if (this.#failure !== undefined) return;
    const queue = this.#queue;
    let applied = 0;
    while (applied < queue.length && this.#budget.hasRoom(applied, this.#state?.rows ?? 0)) {
      const command = queue[applied];
      applied += 1;
      if (command === undefined) continue;
      this.#waitingChanges.remove(command.bytes);
      this.#apply(command);
      if (this.#sqlError !== undefined) break;
    }
    this.#queue = applied === queue.length ? [] : queue.slice(applied);
  }

  #write(): void {
    const rows = this.#state?.rows ?? 0;
    this.#budget.beginWrite();
    this.#state?.write();
    this.#budget.endWrite(rows);
  }

  #apply({ apply, resolve, reject, kind }: Command): void {
    try {
      const value = apply();
      // The value has the type that the caller of the command expects.
      const done = (): void => resolve(value as never);
      this.#waiting.push({ kind, done, reject });
    } catch (error) {
      if (kind === 'write' && !HubError.is(error)) this.#sqlError = error;
      this.#waiting.push({ kind, done: () => reject(error), reject });
    }
  }

  #fail(error: unknown): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    } catch {
      // The next transaction reports a database that cannot be used.
    }
    this.#failure = error;
    const isHeld = ({ kind }: Waiting): boolean => kind === undefined || kind === 'settle';
    for (const waiting of this.#waiting) {
      if (!isHeld(waiting)) waiting.reject?.(unavailable(this.#file, waiting.kind === 'change', error));
    }
    this.#waiting = this.#waiting.filter(isHeld);
    const held: Command[] = [];
    for (const command of this.#queue) {
      if (command.kind === 'settle') held.push(command);
      else command.reject(unavailable(this.#file, false, error));
    }
    this.#queue = held;
    // Changes that nobody can repeat have none.
    this.#waitingChanges.clear();
    this.#next?.cancel();
    this.#next = this.#clock.after(this.#retryMs, () => this.#commitNext());
    this.#retryMs = Math.min(2 * this.#retryMs, maxRetryMs);
  }
}

// Of the 5 ms that a turn of the event loop may take. The commit, and what starts after it, need the rest.
const budgetMs = 2;
const maxChangesPerTransaction = 256;
// A slow machine must not make each change a transaction of its own.
const [minChanges, minRows] = [16, 64] as const;
// Work after which what the transaction makes possible, such as starts, gets a turn of its own.
const longMs = 1;
// One measurement says little: the thread may have been interrupted.
const weight = 0.1;
const maxRise = 4;

/** Ends transactions before they keep the event loop from turning. Learns how long a row takes to write. */
export class TransactionBudget {
  readonly #now: () => number;
  #msPerRow = 0.01;
  #startedAt = 0;
  #appliedAt = 0;
  #workMs = 0;

  /** @param now returns milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The last transaction took so long that what follows belongs in another turn. */
  get wasLong(): boolean {
    return this.#workMs > longMs;
  }

  begin(): void {
    this.#startedAt = this.#now();
  }

  /**
   * Returns `true` if the transaction can take another change.
   *
   * @param changes number of those that were applied
   * @param rows number of rows to write for them, by their size
   */
  hasRoom(changes: number, rows: number): boolean {
    if (changes < minChanges && rows < minRows) return true;
    return changes < maxChangesPerTransaction && this.#now() - this.#startedAt + rows * this.#msPerRow < budgetMs;
  }

  beginWrite(): void {
    this.#appliedAt = this.#now();
  }

  endWrite(rows: number): void {
    const endedAt = this.#now();
    this.#workMs = endedAt - this.#startedAt;
    if (rows === 0) return;
    const msPerRow = Math.min((endedAt - this.#appliedAt) / rows, maxRise * this.#msPerRow);
    this.#msPerRow += weight * (msPerRow - this.#msPerRow);
  }
}

const maxWaitingChanges = 100_000;
const maxWaitingBytes = 512 * 1024 * 1024;

/** Bounds the number of the changes that wait for their transaction, and the bytes of their payloads. */
class WaitingChanges {
  #bytes = 0;

  /** Returns the error for a change that does not fit. @param changes number of those that wait */
  refusal(changes: number, bytes: number): BackpressureError | undefined {
    if (changes >= maxWaitingChanges)
      return new BackpressureError('changes that are not stored yet', `${maxWaitingChanges}`);
    // A change alone is never too large.
    if (this.#bytes === 0 || this.#bytes + bytes <= maxWaitingBytes) return undefined;
    return new BackpressureError('bytes of changes that are not stored yet', `${maxWaitingBytes}`);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
  }

  clear(): void {
    this.#bytes = 0;
  }
}
