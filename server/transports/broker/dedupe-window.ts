/** Event ids by deduplication id, until the window of each is over and its event has ended. */
export class DedupeWindow {
  readonly #inWindow = new Map<string, RememberedId>();
  // Apart from the others: events that outlive their window must not delay the removal of those that do not.
  readonly #outliving = new Map<string, RememberedId>();
  readonly #capacity: number;
  readonly #onChange: (dedupeId: string, remembered: RememberedId | undefined) => void;

  /** @param onChange receives each id that is added, and `undefined` for one that is removed */
  constructor(capacity: number, onChange: (dedupeId: string, remembered: RememberedId | undefined) => void) {
    this.#capacity = capacity;
    this.#onChange = onChange;
  }

  find(dedupeId: string, now: number): string | undefined {
    const known = this.known(dedupeId);
    return known !== undefined && (known.until > now || known.isPending) ? known.eventId : undefined;
  }

  /** Removes expired ids and returns whether `ids` more fit. */
  hasRoom(ids: number, now: number): boolean {
    // All ids of a type have the same window, so the windows end in insertion order.
    for (const [dedupeId, known] of this.#inWindow) {
      if (known.until > now) break;
      this.#inWindow.delete(dedupeId);
      if (known.isPending) this.#outliving.set(dedupeId, known);
      else this.#onChange(dedupeId, undefined);
    }
    return this.#inWindow.size + this.#outliving.size + ids <= this.#capacity;
  }

  remember(dedupeId: string, eventId: string, until: number): RememberedId {
    const remembered = this.restore(dedupeId, eventId, until);
    this.#onChange(dedupeId, remembered);
    return remembered;
  }

  /** Adds an id that is stored already. */
  restore(dedupeId: string, eventId: string, until: number): RememberedId {
    const remembered = new RememberedId(eventId, until, () => {
      if (this.#outliving.delete(dedupeId) && !this.#inWindow.has(dedupeId)) this.#onChange(dedupeId, undefined);
    });
    this.#inWindow.delete(dedupeId);
    this.#inWindow.set(dedupeId, remembered);
    return remembered;
  }

  /** Returns what an id that is in use stands for. */
  known(dedupeId: string): RememberedId | undefined {
    return this.#inWindow.get(dedupeId) ?? this.#outliving.get(dedupeId);
  }
}

/** Returns the name under which the keys of a type are remembered, beside the deduplication ids of the type. */
export function overlapIds(type: string): string {
  // No type begins like this.
  return `overlap\u001f${type}`;
}

/** Event that a deduplication id stands for, or events with an `overlap` that their key stands for. */
export class RememberedId {
  /** The other id of the event. Held and released with this one. */
  beside: RememberedId | undefined;
  readonly eventId: string;
  /** Time at which the window ends. */
  readonly until: number;
  readonly #onEnd: () => void;
  #pending = 0;
  /** Those beside `eventId`, which may have ended. */
  #others: Set<string> | undefined;

  /** @param onEnd called when the event has ended in every service */
  constructor(eventId: string, until: number, onEnd: () => void) {
    this.eventId = eventId;
    this.until = until;
    this.#onEnd = onEnd;
  }

  /** Events that the key stands for. Some may have ended. */
  get eventIds(): readonly string[] {
    return [this.eventId, ...(this.#others ?? [])];
  }

  /** Adds an event that the key stands for. */
  add(eventId: string): void {
    if (eventId === this.eventId) return;
    this.#others ??= new Set();
    this.#others.add(eventId);
  }

  /** The event has not ended in every service. */
  get isPending(): boolean {
    return this.#pending > 0;
  }

  /** Counts a service that accepted the event. */
  hold(): void {
    this.beside?.hold();
    this.#pending += 1;
  }

  /** Counts a service in which the event ended. */
  release(): void {
    this.beside?.release();
    this.#pending -= 1;
    if (this.#pending === 0) this.#onEnd();
  }
}
