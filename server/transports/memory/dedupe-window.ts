/** Event ids by deduplication id, for as long as the window of each lasts. */
export class DedupeWindow {
  readonly #known = new Map<string, { readonly eventId: string; readonly until: number }>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  find(dedupeId: string, now: number): string | undefined {
    const known = this.#known.get(dedupeId);
    return known !== undefined && known.until > now ? known.eventId : undefined;
  }

  /** Removes expired ids and returns whether `ids` more fit. */
  hasRoom(ids: number, now: number): boolean {
    // All ids of a type have the same window, so they expire in insertion order.
    for (const [dedupeId, { until }] of this.#known) {
      if (until > now) break;
      this.#known.delete(dedupeId);
    }
    return this.#known.size + ids <= this.#capacity;
  }

  remember(dedupeId: string, eventId: string, until: number): void {
    this.#known.delete(dedupeId);
    this.#known.set(dedupeId, { eventId, until });
  }
}
