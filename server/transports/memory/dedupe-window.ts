/** Which event a deduplication id stands for, for as long as its window lasts. */
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

  /** Whether so many more ids fit, once those that are over are forgotten. */
  hasRoom(ids: number, now: number): boolean {
    // A type has one window, so the ids stand in the order in which they end.
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
