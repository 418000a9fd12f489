import type { Entry } from '../records/entry.js';
import type { ChainId, ChainSize } from '../records/spill-store.js';

/** Spilled waiting entries of one priority, and of one key if keys take turns. */
export class Chain implements ChainId {
  readonly priority: number;
  readonly key: string | undefined;
  readonly isKeyed: boolean;
  /** Number of stored entries that are not in memory. */
  stored: number;
  /** Entries that are not stored yet: the last ones of the chain. */
  readonly unsaved: Set<Entry> = new Set();
  /** Turn of the last entry that was read. */
  lastReadTurn = 0;
  /** Lower bound of the turns of the stored entries. */
  minTurn: number;

  constructor({ priority, key, isKeyed }: ChainId, stored: number, minTurn: number) {
    this.priority = priority;
    this.key = key;
    this.isKeyed = isKeyed;
    this.stored = stored;
    this.minTurn = minTurn;
  }

  get isEmpty(): boolean {
    return this.stored === 0 && this.unsaved.size === 0;
  }
}

/** Chains of a queue that have spilled entries. */
export class SpillChains {
  readonly isKeyed: boolean;
  /** The chains of each key by descending priority; all under `undefined` if keys do not take turns. */
  readonly #byKey = new Map<string | undefined, Chain[]>();

  constructor(isKeyed: boolean, sizes: readonly ChainSize[] = []) {
    this.isKeyed = isKeyed;
    for (const size of sizes) this.#add(new Chain(size, size.count, size.firstTurn));
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** Keys with spilled entries. */
  get keys(): Iterable<string | undefined> {
    return this.#byKey.keys();
  }

  /** Returns the chain of an entry; `undefined` if it has no spilled entries. */
  find({ envelope: { key, priority } }: Entry): Chain | undefined {
    return this.#byKey.get(this.#keyOf(key))?.find((chain) => chain.priority === priority);
  }

  /** Returns the chain of an entry, which is created if it does not exist. */
  open(entry: Entry): Chain {
    const { key, priority } = entry.envelope;
    return (
      this.find(entry) ??
      this.#add(new Chain({ priority, key: this.#keyOf(key), isKeyed: this.isKeyed }, 0, Number.POSITIVE_INFINITY))
    );
  }

  /** Returns the chain of a key that is next. */
  first(key: string | undefined): Chain | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Removes a chain without entries. */
  removeEmpty(chain: Chain): void {
    if (!chain.isEmpty) return;
    const others = this.#byKey.get(chain.key)?.filter((other) => other !== chain) ?? [];
    if (others.length === 0) this.#byKey.delete(chain.key);
    else this.#byKey.set(chain.key, others);
  }

  *all(): Iterable<Chain> {
    for (const chains of this.#byKey.values()) yield* chains;
  }

  #keyOf(key: string | undefined): string | undefined {
    return this.isKeyed ? key : undefined;
  }

  #add(chain: Chain): Chain {
    const chains = [...(this.#byKey.get(chain.key) ?? []), chain];
    this.#byKey.set(
      chain.key,
      chains.sort((a, b) => b.priority - a.priority),
    );
    return chain;
  }
}
