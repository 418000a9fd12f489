import { unexpected } from '../scripts/reply.js';

/** Item of a batch on its way. */
export interface Submission<TReply> {
  /** Resolves when the item was sent, with or without a reply: what the connection sends next arrives after it. */
  readonly sent: Promise<void>;
  readonly reply: Promise<TReply>;
}

/** Collects the items of one turn of the event loop and sends them in one round trip. */
export class TickBatch<TItem, TReply> {
  readonly #send: (items: readonly TItem[]) => Promise<readonly TReply[]>;
  readonly #maxSize: number;
  #pending: Pending<TItem, TReply>[] = [];
  #sent: Promise<void> = Promise.resolve();

  /**
   * @param maxSize maximum number of items per call of `send`
   * @param send returns one reply per item, in their order
   */
  constructor(maxSize: number, send: (items: readonly TItem[]) => Promise<readonly TReply[]>) {
    this.#maxSize = maxSize;
    this.#send = send;
  }

  add(item: TItem): Submission<TReply> {
    if (this.#pending.length === 0) this.#sent = this.#flushSoon();
    const reply = new Promise<TReply>((resolve, reject) => {
      this.#pending.push({ item, resolve, reject });
    });
    return { sent: this.#sent, reply };
  }

  #flushSoon(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        const pending = this.#pending;
        this.#pending = [];
        for (let from = 0; from < pending.length; from += this.#maxSize) {
          void this.#settle(pending.slice(from, from + this.#maxSize));
        }
        resolve();
      });
    });
  }

  async #settle(batch: readonly Pending<TItem, TReply>[]): Promise<void> {
    try {
      const replies = await this.#send(batch.map(({ item }) => item));
      if (replies.length !== batch.length) throw unexpected(`${batch.length} replies`, replies);
      for (const [index, reply] of replies.entries()) batch[index]?.resolve(reply);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

interface Pending<TItem, TReply> {
  readonly item: TItem;
  resolve(reply: TReply): void;
  reject(error: unknown): void;
}
