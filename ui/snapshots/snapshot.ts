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
