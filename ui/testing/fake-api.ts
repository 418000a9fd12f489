import type { EventBody, EventIntrospection } from '../../server/dashboard/protocol.js';
import type { Api } from '../api/api.js';
import type { Introspection } from '../api/parse-body.js';
import { statusError } from '../api/request-error.js';
import { answerOf, detailOf, SERVER_NOW } from './test-data.js';

/** A dashboard that answers from memory. Tests change its fields between polls. */
export interface FakeApi extends Api {
  events: readonly EventIntrospection[];
  hub: Partial<Introspection['hub']>;
  workflows: Introspection['workflows'];
  agents: Introspection['agents'];
  /** Replaces an event's answer in depth, in part. */
  details: Partial<EventBody>;
  /** The server's clock. */
  serverNow: number;
  /** While set, every request rejects with it. */
  error: Error | null;
  /** The requests so far: "introspection", or the event's type. */
  readonly requests: string[];
}

export function createFakeApi(events: readonly EventIntrospection[] = []): FakeApi {
  const api: FakeApi = {
    events,
    hub: {},
    workflows: [],
    agents: [],
    details: {},
    error: null,
    serverNow: SERVER_NOW,
    requests: [],
    introspection: async () => {
      api.requests.push('introspection');
      if (api.error !== null) throw api.error;
      return {
        introspection: answerOf(api.events, api.hub, { workflows: api.workflows, agents: api.agents }),
        sentAt: api.serverNow,
      };
    },
    event: async (type) => {
      api.requests.push(type);
      if (api.error !== null) throw api.error;
      const event = api.events.find((known) => known.type === type);
      if (event === undefined) throw statusError(404, type, undefined);
      return detailOf(type, event.metrics, api.details);
    },
  };
  return api;
}
