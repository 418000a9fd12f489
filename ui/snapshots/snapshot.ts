import type { EventBody } from '../../server/dashboard/protocol.js';
import { array, boolean, type Decoder, decodeBody, nullable, number, object, oneOf } from '../api/decoder.js';
import { eventBody, type Introspection, introspection } from '../api/parse-body.js';
import type { Detail } from '../polling/event-detail.js';
import type { History, Sample } from '../store/history.js';
import type { HubStore } from '../store/hub-store.js';

/** What a page knew at one time. In a file it is JSON. */
export interface Snapshot {
  readonly format: typeof FORMAT;
  /** Milliseconds on the monotonic clock of the page that took it; so are the times of samples. */
  readonly at: number;
  /** The same moment in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly introspection: Introspection;
  /** The samples of each event type, in the order of `introspection.events`. */
  readonly histories: readonly History[];
  readonly activity: History;
  /** The type whose panel was open, in depth. */
  readonly detail: EventBody | null;
}

/** Its number rises where older files can no longer be read. */
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

/** What a snapshot is taken of. */
export interface Knowledge {
  readonly store: HubStore;
  readonly detail: { readonly value: Detail | null };
}

/** The text of a file of what the page knows; `null` before the first answer. */
export function takeSnapshot({ store, detail }: Knowledge): string | null {
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

/** Reads such a file. @throws {Error} whose message is for the person who chose it */
export function readSnapshot(text: string): Snapshot {
  try {
    return decodeBody(snapshot, JSON.parse(text));
  } catch (cause) {
    throw new Error('This file is not a snapshot of a dashboard, or one of another version.', { cause });
  }
}
