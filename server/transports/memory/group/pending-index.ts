import type { Entry } from '../records/entry.js';

/** Pending entries of a group in memory by id. */
export class PendingIndex {
  // Built by the first look-up: an index of all pending events costs more than those that never cancel should pay.
  #byId: Map<string, Entry> | undefined;
  readonly #entries: () => Iterable<Entry>;

  /** @param entries returns all pending entries in memory */
  constructor(entries: () => Iterable<Entry>) {
    this.#entries = entries;
  }

  /** A look-up has built the index, so that the next one costs little. */
  get isBuilt(): boolean {
    return this.#byId !== undefined;
  }

  find(id: string): Entry | undefined {
    this.#byId ??= new Map(Array.from(this.#entries(), (entry) => [entry.envelope.id, entry]));
    return this.#byId.get(id);
  }

  add(entry: Entry): void {
    this.#byId?.set(entry.envelope.id, entry);
  }

  remove({ envelope: { id } }: Entry): void {
    this.#byId?.delete(id);
  }
}
