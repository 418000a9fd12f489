import type { History } from '../../server/dashboard/protocol.js';
import { type RangeCounts, rangeCounts } from '../api/api.js';
import { type EventDetail, eventDetail } from '../api/decode-event.js';
import { type Introspection, introspection } from '../api/decode-introspection.js';
import { type Decoder, decodeBody, nullable, number, object, oneOf } from '../api/decoder.js';
import type { HubStore } from '../state/hub-store.js';
import type { Loaded } from '../state/loader.js';

/** State of the page at one time. The file format is JSON. */
export interface Snapshot {
  readonly format: typeof FORMAT;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly introspection: Introspection;
  /** Counts of the selected range. */
  readonly range: RangeCounts | null;
  /** Details of the event type whose panel was open. */
  readonly detail: EventDetail | null;
}

/** Format marker. Its number rises if older files can no longer be read. */
const FORMAT = 'hubline snapshot 3';

const snapshot: Decoder<Snapshot> = object<Snapshot>({
  format: oneOf<typeof FORMAT>([FORMAT]),
  serverNow: number,
  introspection,
  range: nullable(rangeCounts),
  detail: nullable(eventDetail),
});

/** State from which a snapshot is taken. */
export interface SnapshotSource {
  readonly store: HubStore;
  readonly detail: { readonly value: Loaded<EventDetail> | null };
}

/** Returns the text of a snapshot file; `null` before the first response. */
export function takeSnapshot({ store, detail }: SnapshotSource): string | null {
  const introspection = store.introspection.value;
  if (introspection === null) return null;
  const taken: Snapshot = {
    format: FORMAT,
    serverNow: store.reading.value.serverNow,
    introspection,
    range: store.range.value,
    detail: detail.value?.body ?? null,
  };
  return JSON.stringify(taken);
}

const maxFileLength = 64 * 1024 * 1024;
const maxDepth = 64;
const maxListLength = 100_000;
const maxTextLength = 100_000;
/** Latest time that the page can format without doubt: the year 5138. */
const maxTimeMs = 1e14;
/** Longest period that a chart of the page spans. */
const maxSpanMs = 8 * 24 * 60 * 60 * 1000;

/**
 * Parses the text of a snapshot file. A file may come from a stranger, so what the page would loop or recurse over is
 * bounded.
 *
 * @throws {Error} with a message for the user who chose the file
 */
export function readSnapshot(text: string): Snapshot {
  try {
    if (text.length > maxFileLength) throw new Error('too long');
    const parsed: unknown = JSON.parse(text);
    checkBounds(parsed);
    const taken = decodeBody(snapshot, parsed);
    checkTimes(taken);
    return taken;
  } catch (cause) {
    throw new Error('This file is not a dashboard snapshot, or its version is not supported.', { cause });
  }
}

/** Walks without recursion: the value may be deeper than the stack. */
function checkBounds(root: unknown): void {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    const isTooLarge = typeof value === 'number' && Math.abs(value) > maxTimeMs;
    if (isTooLarge || (typeof value === 'string' && value.length > maxTextLength)) throw new Error('out of bounds');
    if (typeof value !== 'object' || value === null) continue;
    const parts = Object.values(value);
    if (depth === maxDepth || parts.length > maxListLength) throw new Error('out of bounds');
    for (const part of parts) open.push({ value: part, depth: depth + 1 });
  }
}

function checkTimes({ serverNow, introspection: { hub, totals }, detail }: Snapshot): void {
  const starts = [totals.histories, detail?.histories].flatMap((each) => Object.values<History>({ ...each }));
  const isNear =
    serverNow >= 0 &&
    Math.abs(hub.now - serverNow) <= maxSpanMs &&
    starts.every(({ startAt }) => Math.abs(startAt - serverNow) <= 2 * maxSpanMs);
  if (!isNear) throw new Error('out of bounds');
}
