import { UnexpectedDataError } from './errors.js';

/** Limits of one call of a batch's `send`. An item over `maxWeight` is sent alone. */
export interface BatchLimits<TItem> {
  readonly maxSize: number;
  readonly maxWeight: number;
  weigh(item: TItem): number;
}

const patienceMs = 1;

/** Collects the items of one turn of the event loop and sends them in one round trip. */
export class TickBatch<TItem, TReply> {
  readonly #send: (items: readonly TItem[]) => Promise<readonly TReply[]>;
  readonly #limits: BatchLimits<TItem>;
  readonly #oneAtATime: boolean;
  #pending: Pending<TItem, TReply>[] = [];
  #isSending = false;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param send returns one reply per item, in their order
   * @param options.oneAtATime sends nothing while a call is under way, and collects until it has returned
   */
  constructor(
    limits: BatchLimits<TItem>,
    send: (items: readonly TItem[]) => Promise<readonly TReply[]>,
    { oneAtATime = false }: { readonly oneAtATime?: boolean } = {},
  ) {
    this.#oneAtATime = oneAtATime;
    this.#limits = limits;
    this.#send = send;
  }

  /** @param isPatient nothing waits for the reply: the item may go with those of the next millisecond */
  add(item: TItem, isPatient = false): Promise<TReply> {
    if (!this.#isSending && !this.#isScheduled) this.#schedule(isPatient);
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject });
    });
  }

  #schedule(isPatient: boolean): void {
    const flush = (): void => void this.#flush();
    if (isPatient) this.#timer ??= setTimeout(flush, patienceMs);
    else {
      this.#isScheduled = true;
      setImmediate(flush);
    }
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const limits = { ...this.#limits, weigh: ({ item }: Pending<TItem, TReply>) => this.#limits.weigh(item) };
    this.#isSending = this.#oneAtATime;
    do {
      const pending = this.#pending;
      this.#pending = [];
      for (const batch of portionsOf(pending, limits)) {
        const settled = this.#settle(batch);
        if (this.#oneAtATime) await settled;
      }
    } while (this.#oneAtATime && this.#pending.length > 0);
    this.#isSending = false;
  }

  async #settle(batch: readonly Pending<TItem, TReply>[]): Promise<void> {
    try {
      const replies = await this.#send(batch.map(({ item }) => item));
      if (replies.length !== batch.length)
        throw new UnexpectedDataError(`${batch.length} calls have ${replies.length} replies`);
      for (const [index, reply] of replies.entries()) batch[index]?.resolve(reply);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Divides items into the portions that one call each may have, in their order. */
export function* portionsOf<TItem>(
  items: readonly TItem[],
  { maxSize, maxWeight, weigh }: BatchLimits<TItem>,
): Generator<readonly TItem[]> {
  let portion: TItem[] = [];
  let weight = 0;
  for (const item of items) {
    const added = weigh(item);
    if (portion.length === maxSize || (portion.length > 0 && weight + added > maxWeight)) {
      yield portion;
      portion = [];
      weight = 0;
    }
    portion.push(item);
    weight += added;
  }
  if (portion.length > 0) yield portion;
}

interface Pending<TItem, TReply> {
  readonly item: TItem;
  resolve(reply: TReply): void;
  reject(error: unknown): void;
}
