import { Worker } from 'node:worker_threads';

/** File and the SQLite that copies its log. */
export interface CheckpointSettings {
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
export class CheckpointThread {
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
