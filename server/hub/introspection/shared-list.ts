import type { TransportManager } from '../../transports/transport.js';

const pollMs = 10_000;

/** List that all processes of a store share. */
export interface SharedListSettings<T> {
  /** Key of the key-value store, and name of the list in its value. */
  readonly key: string;
  readonly name: string;
  /** Time after which the store drops a list that nobody changes, in milliseconds. */
  readonly ttlMs: number;
  /** Returns `true` for an entry. What it does not understand, of another version, is omitted. */
  isEntry(value: unknown): value is T;
  /** Returns what is stored of a changed list. */
  retain(entries: readonly T[], now: number): readonly T[];
}

type Changed<T> = readonly T[] | undefined;

/** Bounded list in one value of the key-value store, which processes change by compare-and-set. */
export class SharedList<T> {
  readonly #transport: Pick<TransportManager, 'clock' | 'kv'>;
  readonly #settings: SharedListSettings<T>;
  #known: readonly T[] = [];
  #readAt: number | undefined;

  constructor(transport: Pick<TransportManager, 'clock' | 'kv'>, settings: SharedListSettings<T>) {
    this.#transport = transport;
    this.#settings = settings;
  }

  /** Returns the list, at most 10 seconds old. */
  async recent(): Promise<readonly T[]> {
    const now = this.#transport.clock.now();
    if (this.#readAt !== undefined && Math.abs(now - this.#readAt) < pollMs) return this.#known;
    return this.read();
  }

  async read(): Promise<readonly T[]> {
    const { kv, clock } = this.#transport;
    this.#known = this.#parse(await kv.get(this.#settings.key));
    this.#readAt = clock.now();
    return this.#known;
  }

  /** @param update returns the list after the change; `undefined` if there is nothing to change */
  async change(update: (entries: readonly T[], now: number) => Changed<T> | Promise<Changed<T>>): Promise<void> {
    const { kv, clock } = this.#transport;
    const { key, name, ttlMs, retain } = this.#settings;
    for (;;) {
      const text = await kv.get(key);
      const now = clock.now();
      const entries = this.#parse(text);
      const changed = await update(entries, now);
      this.#known = changed ?? entries;
      this.#readAt = now;
      if (changed === undefined) return;
      if (await kv.compareAndSet(key, text, JSON.stringify({ [name]: retain(changed, now) }), { ttlMs })) return;
    }
  }

  #parse(text: string | undefined): readonly T[] {
    if (text === undefined) return [];
    try {
      const { [this.#settings.name]: entries } = Object(JSON.parse(text)) as Record<string, unknown>;
      return Array.isArray(entries) ? entries.filter(this.#settings.isEntry) : [];
    } catch {
      return [];
    }
  }
}

/** Calls a function every 10 seconds, each time after the last call has settled. Returns a function that ends this. */
export function everyPoll(call: () => Promise<void>): () => void {
  // Other processes do not see a fake clock.
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    timer = setTimeout(() => {
      void call().then(() => {
        if (timer !== undefined) wait();
      });
    }, pollMs);
    timer.unref();
  };
  wait();
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}
