import type { Database, Statement } from '../database/driver.js';
import { numberOf } from '../loading/stored-values.js';
import { type CheckpointSettings, CheckpointThread } from './checkpoint-thread.js';

/** Copies the log of a file into the file as it grows. */
export interface Checkpoints {
  /** Called after each transaction. */
  transactionEnded(): void;
  /** Begins to copy what the log has. */
  copy(): void;
  /** Resolves when no other thread has the file open. */
  close(): Promise<void>;
}

/** Returns checkpoints of SQLite itself, which copies the log in a transaction whenever it has 1,000 pages more. */
export function automaticCheckpoints(database: Database): Checkpoints {
  return {
    transactionEnded() {},
    copy: () => tryCopy(database.prepare(copySql)),
    async close() {},
  };
}

const copySql = 'PRAGMA wal_checkpoint(PASSIVE)';

function tryCopy(statement: Statement): void {
  try {
    statement.get();
  } catch {
    // The next transaction reports a disk that fails; the log has everything.
  }
}

// As SQLite itself.
const pagesPerCheckpoint = 1_000;
// Of 4 KiB. The thread lags, or another process reads the file for long.
const maxPages = 16_000;
// To look costs as much as a row.
const transactionsPerLook = 8;
const restartAfterMs = 60_000;

/**
 * Copies the log in another thread. What the log received meanwhile is copied here, in a turn of its own: only a log
 * that was copied as a whole begins again. Without a thread that works, all of it is copied here.
 */
export class LogCheckpoints implements Checkpoints {
  readonly #database: Database;
  readonly #settings: CheckpointSettings;
  readonly #size: Statement;
  readonly #copy: Statement;
  #thread: CheckpointThread | undefined;
  #restartAt = 0;
  #transactions = 0;
  /** Number of pages to copy from which the next attempt of this thread makes sense. */
  #minPages = 0;
  #isClosed = false;

  constructor(database: Database, settings: CheckpointSettings) {
    this.#database = database;
    this.#settings = settings;
    this.#database.exec('PRAGMA wal_autocheckpoint = 0');
    this.#size = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#copy = database.prepare(copySql);
  }

  transactionEnded(): void {
    this.#transactions += 1;
    if (this.#transactions < transactionsPerLook) return;
    this.#transactions = 0;
    const pages = this.#pagesToCopy();
    if (pages < pagesPerCheckpoint) return;
    if (this.#thread?.isRunning === true) {
      if (pages > maxPages) this.#copyHere(pages);
    } else if (!this.#startThread()) this.#copyHere(pages);
  }

  copy(): void {
    if (this.#thread?.isRunning !== true && !this.#startThread()) this.#copyHere(this.#pagesToCopy());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.close();
  }

  /** Returns `false` if there is no thread that works. */
  #startThread(): boolean {
    if (this.#thread?.hasEnded === true) {
      this.#thread = undefined;
      this.#restartAt = performance.now() + restartAfterMs;
    }
    if (this.#thread === undefined) {
      if (performance.now() < this.#restartAt) return false;
      this.#thread = new CheckpointThread(this.#settings, (hasCopied) => this.#finish(hasCopied));
    }
    this.#thread.run();
    return true;
  }

  #finish(hasCopied: boolean): void {
    // Without success, the next transactions try again.
    if (this.#isClosed || !hasCopied || this.#database.isTransaction) return;
    const pages = this.#pagesToCopy();
    if (pages > 0 && pages < pagesPerCheckpoint) this.#copyHere(pages);
  }

  #copyHere(pages: number): void {
    // A reader keeps the rest of the log from being copied: to try again at once is of no use.
    if (pages < this.#minPages) return;
    tryCopy(this.#copy);
    const left = this.#pagesToCopy();
    this.#minPages = left === 0 ? 0 : left + pagesPerCheckpoint;
  }

  #pagesToCopy(): number {
    try {
      const row = this.#size.get() ?? {};
      return numberOf(row, 'log') - numberOf(row, 'checkpointed');
    } catch {
      return 0;
    }
  }
}
