/** Length of debounce windows. */
export interface Debounce {
  /** Milliseconds from the last event of a key until it runs. */
  readonly ms: number;
  /** Maximum number of milliseconds from the first event of a key until the last one runs. @default unlimited */
  readonly maxMs?: number | undefined;
}

/** Event that a window holds. */
interface Debounced {
  readonly envelope: { readonly key?: string | undefined; readonly delayMs: number };
}

/** Debounce windows of one type: one item per key waits in each until no other item of the key arrives. */
export class DebounceWindows<T extends Debounced> {
  readonly #byKey: Map<string | undefined, { readonly item: T; readonly openedAt: number }>;
  readonly #debounce: Debounce;

  /** @param earlier windows of an earlier subscription, which stay open */
  constructor(debounce: Debounce, earlier?: DebounceWindows<T>) {
    this.#debounce = debounce;
    this.#byKey = earlier === undefined ? new Map() : earlier.#byKey;
  }

  /** Returns the item that waits in the window of the key. */
  find(key: string | undefined): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  /** Opens the window of the item's key. Returns the time at which it closes. */
  open(item: T, now: number): number {
    this.#byKey.set(item.envelope.key, { item, openedAt: now });
    return this.#closeTime(item, now, now);
  }

  /** Opens the window of an item that was opened at an earlier time. */
  restore(item: T, openedAt: number): void {
    this.#byKey.set(item.envelope.key, { item, openedAt });
  }

  /** Extends the window of the item's key. Returns the time at which it closes now. */
  extend(item: T, now: number): number {
    return this.#closeTime(item, now, this.#byKey.get(item.envelope.key)?.openedAt ?? now);
  }

  /** Closes the window of the item's key, if the item is in it. */
  close(item: T): void {
    const { key } = item.envelope;
    if (this.#byKey.get(key)?.item === item) this.#byKey.delete(key);
  }

  #closeTime({ envelope }: T, now: number, openedAt: number): number {
    const { ms, maxMs = Number.POSITIVE_INFINITY } = this.#debounce;
    return Math.min(now + Math.max(ms, envelope.delayMs), openedAt + maxMs);
  }
}
