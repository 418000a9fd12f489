import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../errors.js';
import { isName } from '../../options.js';
import type { BoundedLog, LogBounds, LogPage } from '../../transports/bounded-log.js';
import type { Envelope } from '../../transports/delivery.js';
import { TickBatch } from '../../transports/tick-batch.js';
import { InvalidTagsError } from '../errors.js';

const maxTags = 5;
const maxTagLength = 64;

/** Bounds of the index of a type. */
const bounds: LogBounds = { maxEntries: 20_000, maxBytes: 8 * 1_024 * 1_024, maxAgeMs: 30 * 86_400_000 };
/** Number of entries that one round trip reads or appends at most. */
const maxPerCall = 5_000;
const hashBytes = 12;

/** Event type, or workflow, with the function that computes the tags of its events or runs. */
export interface TagSource {
  readonly type: string;
  readonly tags?: (payload: unknown) => unknown;
}

/** Returns `true` for a tag. */
export function isTag(value: unknown): value is string {
  return isName(value) && value.length <= maxTagLength;
}

/**
 * Returns the tags of an event or a run, each once.
 *
 * @param payload payload as the handler receives it
 * @throws {InvalidTagsError} if the `tags` function throws or returns something else than tags
 */
export function tagsOf({ type, tags }: Required<TagSource>, payload: unknown): readonly string[] {
  try {
    const found: unknown = tags(payload);
    if (!Array.isArray(found) || found.length > maxTags || !found.every(isTag)) {
      const expected = `a list of at most ${maxTags} strings of 1 to ${maxTagLength} characters`;
      throw new InvalidOptionError('its return value', expected, found);
    }
    return [...new Set(found)];
  } catch (error) {
    throw new InvalidTagsError(type, error);
  }
}

/** Event or run that is found by its tags and its key. */
export interface TaggedEvent extends Pick<Envelope, 'id' | 'type' | 'requestId' | 'key'> {
  readonly tags: readonly string[];
}

/** Tag or key that is searched for. */
export type Searched = { readonly tag: string } | { readonly key: string };

/** Event in the index. */
export interface TaggedPlace {
  readonly id: string;
  /** Type of the event or the run in the transport. */
  readonly type: string;
  readonly requestId: string;
  /** Time at which it was indexed, in epoch milliseconds: just before its acceptance. */
  readonly at: number;
}

/** Result of {@link TagIndex.find}. */
export interface TaggedPlaces {
  /** Newest first. */
  readonly places: readonly TaggedPlace[];
  /** Epoch milliseconds from which on the index is complete; `undefined` if it has dropped nothing. */
  readonly since: number | undefined;
  /** Epoch milliseconds of the last erasure of each erased request. */
  readonly erased: ReadonlyMap<string, number>;
}

/**
 * Index of events by tags and keys: a bounded log per type, with the ids of events and hashes of their tags and keys.
 * Contains neither tags nor keys.
 */
export class TagIndex {
  readonly #log: BoundedLog;
  readonly #batch: TickBatch<TaggedEvent, void>;

  constructor(log: BoundedLog) {
    this.#log = log;
    const limits = { maxSize: maxPerCall, maxWeight: 1_024 * 1_024, weigh: weightOf };
    this.#batch = new TickBatch(limits, (events) => this.#append(events));
  }

  /** Adds events. Resolves when all of them can be found. */
  async add(events: readonly TaggedEvent[]): Promise<void> {
    await Promise.all(events.map((event) => this.#batch.add(event)));
  }

  async #append(events: readonly TaggedEvent[]): Promise<undefined[]> {
    const byType = new Map<string, string[]>();
    for (const { id, type, requestId, key, tags } of events) {
      const hashes = [...tags.map((tag) => hashOf({ tag })), ...(key === undefined ? [] : [hashOf({ key })])];
      const texts = byType.get(type) ?? [];
      texts.push(JSON.stringify([id, requestId, ...hashes]));
      byType.set(type, texts);
    }
    await Promise.all([...byType].map(([type, texts]) => this.#log.append(logOf(type), texts, bounds)));
    return events.map(() => undefined);
  }

  /** Returns the events of types that were indexed with a tag or a key, and whose request was not erased since. */
  async find(searched: Searched, types: readonly string[]): Promise<TaggedPlaces> {
    const found = await Promise.all(types.map((type) => this.#findIn(type, hashOf(searched))));
    const places = found.flatMap((each) => each.places).sort(newestFirst);
    const since = Math.max(...found.flatMap((each) => each.since ?? []));
    const erased = new Map(found.flatMap((each) => [...each.erased]).sort(([, a], [, b]) => a - b));
    return { places, since: Number.isFinite(since) ? since : undefined, erased };
  }

  async #findIn(type: string, hash: string): Promise<TaggedPlaces> {
    const places = new Map<string, TaggedPlace>();
    const erased = new Map<string, number>();
    let since: number | undefined;
    for await (const { entries, first, isFirst } of this.#pages(type)) {
      if (isFirst && first > 0) since = entries[0]?.at;
      for (const { text, at } of entries) {
        const isErasure = text.startsWith(erasureStart);
        // Few entries have the hash.
        if (!isErasure && !text.includes(hash)) continue;
        const [id, requestId, ...hashes] = namesIn(text);
        if (id === undefined || requestId === undefined) continue;
        if (isErasure) {
          erased.set(requestId, at);
          for (const place of places.values()) if (place.requestId === requestId) places.delete(place.id);
        } else if (hashes.includes(hash)) {
          // An attempt that is repeated adds the events that it emits again.
          places.delete(id);
          places.set(id, { id, type, requestId, at });
        }
      }
    }
    return { places: [...places.values()], since, erased };
  }

  /** Makes the events of a request unfindable, in the index of each type that has some. */
  async erase(requestId: string, types: readonly string[]): Promise<void> {
    const erasure = [JSON.stringify([erasedId, requestId])];
    const eraseIn = async (type: string): Promise<void> => {
      if (await this.#isIndexed(requestId, type)) await this.#log.append(logOf(type), erasure, bounds);
    };
    await Promise.all(types.map(eraseIn));
  }

  /** Returns `true` if events of a request were indexed since its last erasure. */
  async #isIndexed(requestId: string, type: string): Promise<boolean> {
    const part = JSON.stringify(requestId);
    let isIndexed = false;
    for await (const { entries } of this.#pages(type)) {
      // Few entries contain it.
      for (const { text } of entries.filter((entry) => entry.text.includes(part))) {
        const [id, indexed] = namesIn(text);
        if (indexed === requestId) isIndexed = id !== erasedId;
      }
    }
    return isIndexed;
  }

  async *#pages(type: string): AsyncGenerator<LogPage & { readonly isFirst: boolean }> {
    let from = 0;
    for (;;) {
      const page = await this.#log.read(logOf(type), { from, limit: maxPerCall });
      yield { ...page, isFirst: from === 0 };
      const last = page.entries.at(-1);
      if (last === undefined || last.sequence + 1 >= page.next) return;
      from = last.sequence + 1;
    }
  }
}

// No id of an event is empty.
const erasedId = '';
const erasureStart = '["",';

function weightOf({ id, requestId }: TaggedEvent): number {
  return id.length + requestId.length + 100;
}

function logOf(type: string): string {
  return `tags\n${type}`;
}

function hashOf(searched: Searched): string {
  const [kind, text] = 'tag' in searched ? ['tag', searched.tag] : ['key', searched.key];
  return createHash('sha256').update(`${kind}\n${text}`).digest().toString('base64url', 0, hashBytes);
}

function newestFirst(a: TaggedPlace, b: TaggedPlace): number {
  return b.at - a.at || (a.id < b.id ? -1 : 1);
}

/** Returns the texts of a stored entry; none of one that another version stored. */
function namesIn(json: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(json);
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? names : [];
  } catch {
    return [];
  }
}
