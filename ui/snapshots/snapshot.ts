import type { EventBody } from '../../server/dashboard/protocol.js';
import { eventBody } from '../api/decode-event.js';
import { type Introspection, introspection } from '../api/decode-introspection.js';
import { type Decoder, decodeBody, nullable, number, object, oneOf } from '../api/decoder.js';
import { type RangeCounts, rangeCounts } from '../api/parse-body.js';
import type { Detail } from '../polling/event-detail.js';
import type { HubStore } from '../store/hub-store.js';

/** State of the page at one time. The file format is JSON. */
export interface Snapshot {
  readonly format: typeof FORMAT;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly introspection: Introspection;
  /** Counts of the selected range. */
  readonly range: RangeCounts | null;
  /** Details of the event type whose panel was open. */
  readonly detail: EventBody | null;
}

/** Format marker. Its number rises if older files can no longer be read. */
const FORMAT = 'hubline snapshot 2';

const snapshot: Decoder<Snapshot> = object<Snapshot>({
  format: oneOf<typeof FORMAT>([FORMAT]),
  serverNow: number,
  introspection,
  range: nullable(rangeCounts),
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
  const health = store.health.value;
  const totals = store.totals.value;
  if (hub === null || health === null || totals === null) return null;
  const taken: Snapshot = {
    format: FORMAT,
    serverNow: store.reading.value.serverNow,
    introspection: {
      hub,
      health,
      totals,
      events: [...store.rows.value.values()].map(({ latest }) => latest),
      workflows: store.workflows.value,
      agents: store.agents.value,
    },
    range: store.range.value,
    detail: detail.value?.body ?? null,
  };
  return JSON.stringify(taken);
}

/**
 * Parses the text of a snapshot file.
 *
 * @throws {Error} with a message for the user who chose the file
 */
export function readSnapshot(text: string): Snapshot {
  try {
    return decodeBody(snapshot, JSON.parse(text));
  } catch (cause) {
    throw new Error('This file is not a dashboard snapshot, or its version is not supported.', { cause });
  }
}
