// A timer that fires later than this shows that something blocked the event loop.
const maxLatenessMs = 20;
// A block costs one of them, wherever it ends.
const parts = 10;

/**
 * Time limit of several promises, with one timer for all of them. Time during which the event loop was blocked does not
 * count: replies that arrived meanwhile are read before the limit ends.
 */
export class Deadline {
  isOver = false;
  readonly #ms: number;
  readonly #waiting = new Set<(error: Error) => void>();
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.#arm(ms);
  }

  /** Settles like `promise`, which nothing else may wait for, or rejects when the time is over. */
  race<T>(promise: Promise<T>): Promise<T> {
    return this.wait((resolve, reject) => {
      promise.then(resolve, reject);
      return () => {};
    });
  }

  /**
   * Resolves or rejects as `start` decides, or rejects when the time is over.
   *
   * @param start returns a function that ends its subscription
   */
  wait<T>(start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let stop = (): void => {};
      const end = (): void => {
        this.#waiting.delete(expire);
        stop();
      };
      const expire = (error: Error): void => {
        end();
        reject(error);
      };
      this.#waiting.add(expire);
      stop = start(
        (value) => {
          end();
          resolve(value);
        },
        (error) => {
          end();
          reject(error);
        },
      );
      if (this.isOver) expire(timeUp());
    });
  }

  cancel(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  #arm(leftMs: number): void {
    const partMs = Math.min(leftMs, Math.ceil(this.#ms / parts));
    const dueAt = performance.now() + partMs;
    this.#timer = setTimeout(() => {
      const lateness = performance.now() - dueAt;
      if (leftMs > partMs) {
        this.#arm(leftMs - partMs);
      } else if (lateness > maxLatenessMs) {
        this.#arm(Math.min(lateness, this.#ms));
      } else {
        // Timers run before the sockets are read.
        this.#turn = setImmediate(() => this.#expire());
      }
    }, partMs);
  }

  #expire(): void {
    this.isOver = true;
    for (const expire of [...this.#waiting]) expire(timeUp());
  }
}

function timeUp(): Error {
  return new Error('no reply in time');
}
