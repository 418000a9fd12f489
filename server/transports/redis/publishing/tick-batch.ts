/**
 * Gathers what is added in one turn of the event loop and sends it together: one round trip, where
 * each alone would cost one.
 */
export class TickBatch<TItem, TAnswer> {
  readonly #send: (items: readonly TItem[]) => Promise<readonly TAnswer[]>;
  readonly #largest: number;
  #pending: Pending<TItem, TAnswer>[] = [];
  #sent: Promise<void> = Promise.resolve();

  /** @param send answers as many as it is given, in their order */
  constructor(largest: number, send: (items: readonly TItem[]) => Promise<readonly TAnswer[]>) {
    this.#largest = largest;
    this.#send = send;
  }

  add(item: TItem): Promise<TAnswer> {
    if (this.#pending.length === 0) this.#sent = this.#flushSoon();
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject });
    });
  }

  /** Resolves when all that was added is on its way, answered or not. */
  get sent(): Promise<void> {
    return this.#sent;
  }

  #flushSoon(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        const pending = this.#pending;
        this.#pending = [];
        for (let from = 0; from < pending.length; from += this.#largest) {
          void this.#settle(pending.slice(from, from + this.#largest));
        }
        resolve();
      });
    });
  }

  async #settle(batch: readonly Pending<TItem, TAnswer>[]): Promise<void> {
    try {
      const answers = await this.#send(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer === undefined) reject(new RangeError('fewer answers than items'));
        else resolve(answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

interface Pending<TItem, TAnswer> {
  readonly item: TItem;
  resolve(answer: TAnswer): void;
  reject(error: unknown): void;
}
