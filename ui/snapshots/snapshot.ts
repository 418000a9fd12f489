import type { EventBody } from '../../server/dashboard/protocol.js';
import { array, boolean, type Decoder, decodeBody, nullable, number, object, oneOf } from '../api/decoder.js';
import { eventBody, type Introspection, introspection } from '../api/parse-body.js';
import type { Detail } from '../polling/event-detail.js';
import type { History, Sample } from '../store/history.js';
import type { HubStore } from '../store/hub-store.js';

/** State of the page at one time. The file format is JSON. */
export interface Snapshot {
  readonly format: typeof FORMAT;
  /** Milliseconds on the monotonic clock of the page that took the snapshot, like the times of samples. */
  readonly at: number;
  /** Same time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly introspection: Introspection;
  /** Samples of each event type, in the order of `introspection.events`. */
  readonly histories: readonly History[];
  readonly activity: History;
  /** Details of the event type whose panel was open. */
  readonly detail: EventBody | null;
}

/** Format marker. Its number rises if older files can no longer be read. */
const FORMAT = 'hubline snapshot 1';

const history = array(
  object<Sample>({ at: number, received: number, completed: number, failed: number, restarted: boolean }),
);

const snapshot: Decoder<Snapshot> = object<Snapshot>({
  format: oneOf<typeof FORMAT>([FORMAT]),
  at: number,
  serverNow: number,
  introspection,
  histories: array(history),
  activity: history,
  detail: nullable(eventBody),
});

/** State from which a snapshot is taken. */
export interface SnapshotSource {
  readonly store: HubStore;
  readonly detail: { readonly value: Detail | null };
}

/** Returns the text of a snapshot file; `null` before the first response. */
export function takeSnapshot({ store, detail }: SnapshotSource): string | null {
  const hub = store.hub.value;
  if (hub === null) return null;
  const rows = [...store.rows.value.values()];
  const taken: Snapshot = {
    format: FORMAT,
    ...store.reading.value,
    introspection: {
      hub,
      events: rows.map((row) => row.event.value),
      workflows: store.workflows.value,
      agents: store.agents.value,
    },
    histories: rows.map((row) => row.history),
    activity: store.activity.value,
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

function checkTimes({ at, serverNow, histories, activity, detail }: Snapshot): void {
  const samples = [...histories, activity].flat();
  const isNear =
    serverNow >= 0 &&
    samples.every((sample) => Math.abs(sample.at - at) <= maxSpanMs) &&
    (detail?.perMinute ?? []).every((minute) => Math.abs(minute.at - serverNow) <= maxSpanMs);
  if (!isNear) throw new Error('out of bounds');
}
