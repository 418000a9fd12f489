import { Worker } from 'node:worker_threads';
import { numberOf } from '../stored-values.js';
import type { Database, Statement } from './driver.js';

/** Copies the log of a file into the file as it grows. */
export interface Checkpoints {
  /** Called after each transaction. Returns a promise if the next one has to wait, because the log grows too fast. */
  transactionEnded(): Promise<void> | undefined;
  /** Begins to copy what the log has. */
  copy(): void;
  /** Resolves when no other thread has the file open. */
  close(): Promise<void>;
}

/** Returns checkpoints of SQLite itself, which copies the log in a transaction whenever it has 1,000 pages more. */
export function automaticCheckpoints(database: Database): Checkpoints {
  limitSize(database);
  return {
    transactionEnded: () => undefined,
    copy: () => tryCopy(database.prepare(copySql)),
    async close() {},
  };
}

const copySql = 'PRAGMA wal_checkpoint(PASSIVE)';
const maxLogBytes = 64 * 1024 * 1024;

/** Makes a log that begins again return what it takes beyond the maximum to the disk. */
function limitSize(database: Database): void {
  database.exec(`PRAGMA journal_size_limit = ${maxLogBytes}`);
}

function tryCopy(statement: Statement): void {
  try {
    statement.get();
  } catch {
    // The next transaction reports a disk that fails; the log has everything.
  }
}

// As SQLite itself.
const pagesPerCheckpoint = 1_000;
// Of 4 KiB. The thread takes longer to copy them than this one to write them.
const maxPages = 16_000;
// To look costs as much as a row.
const transactionsPerLook = 8;
const restartAfterMs = 60_000;

/** Pages of the log, and those of them that are not in the file yet. */
interface LogSize {
  readonly log: number;
  readonly left: number;
}

/** Transactions that wait. */
interface Wait {
  readonly ended: Promise<void>;
  readonly end: () => void;
  /** Pages that the last run left. */
  left: number;
}

/**
 * Copies the log in another thread. What the log received meanwhile is copied here, in a turn of its own: only a log
 * that was copied as a whole begins again. If the thread is too slow for that, transactions wait for it, so that the log
 * stays small. Without a thread that works, all of it is copied here.
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
  /** Number of pages of the log from which transactions wait. */
  #maxLog = maxPages;
  #wait: Wait | undefined;
  #isClosed = false;

  constructor(database: Database, settings: CheckpointSettings) {
    this.#database = database;
    this.#settings = settings;
    this.#database.exec('PRAGMA wal_autocheckpoint = 0');
    limitSize(database);
    this.#size = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#copy = database.prepare(copySql);
  }

  transactionEnded(): Promise<void> | undefined {
    this.#transactions += 1;
    if (this.#transactions < transactionsPerLook) return undefined;
    this.#transactions = 0;
    const { log, left } = this.#look();
    if (log <= maxPages) this.#maxLog = maxPages;
    if (left < pagesPerCheckpoint) return undefined;
    if (this.#thread?.isRunning !== true && !this.#startThread()) this.#copyHere(left);
    else if (log > this.#maxLog) return this.#waitForThread();
    return undefined;
  }

  copy(): void {
    if (this.#thread?.isRunning !== true && !this.#startThread()) this.#copyHere(this.#look().left);
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
      try {
        this.#thread = new CheckpointThread(this.#settings, (hasCopied) => this.#finish(hasCopied));
      } catch {
        // The process may not start threads, or the system has no room for another one.
        this.#restartAt = performance.now() + restartAfterMs;
        return false;
      }
    }
    this.#thread.run();
    return true;
  }

  #waitForThread(): Promise<void> {
    if (this.#wait === undefined) {
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.#wait = { ended, end, left: Number.POSITIVE_INFINITY };
    }
    return this.#wait.ended;
  }

  #finish(hasCopied: boolean): void {
    const { log, left } = this.#look();
    const wait = this.#wait;
    // Without success, the next transactions try again.
    if (hasCopied && !this.#isClosed && left > 0) {
      // Nothing is written meanwhile. A reader keeps the log from being copied if a run leaves as much as the one before.
      if (wait !== undefined && left < wait.left) {
        wait.left = left;
        this.#startThread();
        return;
      }
      if (left < pagesPerCheckpoint && !this.#database.isTransaction) tryCopy(this.#copy);
    }
    if (wait === undefined) return;
    this.#wait = undefined;
    this.#maxLog = log + maxPages;
    wait.end();
  }

  #copyHere(pages: number): void {
    // A reader keeps the rest of the log from being copied: to try again at once is of no use.
    if (pages < this.#minPages) return;
    tryCopy(this.#copy);
    const { left } = this.#look();
    this.#minPages = left === 0 ? 0 : left + pagesPerCheckpoint;
  }

  #look(): LogSize {
    try {
      const row = this.#size.get() ?? {};
      const log = numberOf(row, 'log');
      return { log, left: log - numberOf(row, 'checkpointed') };
    } catch {
      return { log: 0, left: 0 };
    }
  }
}

/** File and the SQLite that copies its log. */
interface CheckpointSettings {
  /** Absolute path of the file. */
  readonly file: string;
  /** Number of the file in its file system: another file at the path is left alone. */
  readonly ino: number;
  /** Module of the SQLite that this process uses, as `require` takes it. */
  readonly module: string;
}

// States that the threads share. Native code that a process ends under aborts it, so its end waits for the thread.
const [idle, busy, stopped] = [0, 1, 2] as const;
// A disk that does not answer must not keep the process from ending.
const maxExitWaitMs = 5_000;

// As text: a bundle has no file that a thread could load.
const program = `
const { statSync } = require('node:fs');
const { parentPort, workerData: { file, ino, module, shared } } = require('node:worker_threads');
const state = new Int32Array(shared);
const rest = () => {
  Atomics.store(state, 0, ${idle});
  Atomics.notify(state, 0);
};
let database;
try {
  const { DatabaseSync } = require(module);
  if (statSync(file).ino !== ino) throw new Error('another file');
  database = new DatabaseSync(file);
  database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0');
} finally {
  rest();
}
parentPort.on('message', (message) => {
  if (Atomics.compareExchange(state, 0, ${idle}, ${busy}) !== ${idle}) return;
  let hasCopied = false;
  try {
    if (message === 'close') {
      parentPort.close();
      database.close();
    } else {
      database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
      hasCopied = true;
    }
  } catch {}
  rest();
  if (message !== 'close') parentPort.postMessage(hasCopied);
});
`;

/** Threads that run, with one listener for all of them. */
const running = new Set<CheckpointThread>();

function awaitThreads(): void {
  for (const thread of running) thread.awaitIdle();
}

/** Thread that copies the log of a file into the file. It keeps the process alive only during a run. */
class CheckpointThread {
  readonly #worker: Worker;
  readonly #onEnd: (hasCopied: boolean) => void;
  #isRunning = false;
  #isClosing = false;
  #hasEnded = false;
  readonly #ended: Promise<void>;
  readonly #state: Int32Array;

  /** @param onEnd called at the end of each run; if the thread ends, with `false` */
  constructor(settings: CheckpointSettings, onEnd: (hasCopied: boolean) => void) {
    this.#onEnd = onEnd;
    // Without the flags of the process, such as a loader, which takes longer to start than a checkpoint.
    const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#state = new Int32Array(shared);
    Atomics.store(this.#state, 0, busy);
    const workerData = { ...settings, shared };
    this.#worker = new Worker(program, { eval: true, workerData, execArgv: ['--no-warnings'] });
    if (running.size === 0) process.on('exit', awaitThreads);
    running.add(this);
    this.#worker.on('message', (hasCopied) => this.#report(hasCopied === true));
    // The exit follows.
    this.#worker.on('error', () => {});
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#hasEnded = true;
        running.delete(this);
        if (running.size === 0) process.off('exit', awaitThreads);
        resolve();
        this.#report(false);
      });
    });
    // A listener undoes it.
    this.#worker.unref();
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The thread has failed, or was closed. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Copies what the log has now. */
  run(): void {
    this.#isRunning = true;
    // Transactions may wait for it, and nothing else may be under way.
    this.#worker.ref();
    this.#worker.postMessage('run');
  }

  /** Resolves when the thread has closed the file. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#worker.ref();
    this.#worker.postMessage('close');
    await this.#ended;
  }

  /** Waits for the end of the run, and prevents another one: the process ends. */
  awaitIdle(): void {
    const until = performance.now() + maxExitWaitMs;
    while (Atomics.compareExchange(this.#state, 0, idle, stopped) === busy && performance.now() < until) {
      Atomics.wait(this.#state, 0, busy, maxExitWaitMs);
    }
  }

  #report(hasCopied: boolean): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    if (!this.#isClosing) this.#worker.unref();
    this.#onEnd(hasCopied);
  }
}
