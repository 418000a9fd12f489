import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import { computeHealth } from '../../hub/introspection/health.js';
import type { EventIntrospection, HubIntrospection } from '../../hub/introspection/introspection.js';
import type { StepWait } from '../../hub/runs/run-introspection.js';
import { isName } from '../../options.js';
import type {
  AgentRunsBody,
  ColumnsBody,
  EventBody,
  EventDetailsBody,
  EventOverview,
  EventSettings,
  IntrospectionBody,
  ProcessesBody,
  RequestBody,
  WaitsBody,
} from '../protocol.js';
import { eventColumns, shownDetails, withoutStart } from './event-columns.js';

/** Reads everything that is registered on the hub. */
export async function readIntrospectionBody(hub: Hub): Promise<IntrospectionBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection), events: introspection.events.map(shownEvent) };
}

/** Reads everything that is registered on the hub, with the event types as columns. */
export async function readColumnsBody(hub: Hub): Promise<ColumnsBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection), events: eventColumns(introspection.events) };
}

function bodyWithoutEvents(introspection: HubIntrospection): Omit<IntrospectionBody, 'events'> {
  const { hub, totals, workflows, agents, schedules } = introspection;
  const { retainsDeadLetters: _, ...shownHub } = hub;
  return {
    protocol: 2,
    hub: shownHub,
    health: computeHealth(introspection),
    totals,
    workflows: withoutKeys(workflows.map(({ lastFailure: _failure, ...workflow }) => workflow)),
    agents,
    schedules,
  };
}

function shownEvent(event: EventIntrospection): EventOverview {
  const { minutes } = event.recent;
  return {
    type: event.type,
    ...shownDetails(event),
    ...(event.processes !== undefined && { processes: event.processes }),
    metrics: event.metrics,
    recent: {
      ...event.recent,
      minutes: { received: withoutStart(minutes.received), failed: withoutStart(minutes.failed) },
    },
  };
}

const settingNames = [
  'retry',
  'timeoutMs',
  'concurrency',
  'hasKey',
  'concurrencyPerKey',
  'rate',
  'debounceMs',
  'debounceMaxMs',
] as const satisfies readonly (keyof EventSettings)[];

/** Reads the body of one event type. */
export async function readEventBody(hub: Hub, type: string): Promise<EventBody> {
  const [metrics, recentFailures, description, recent] = await Promise.all([
    hub.metrics(type),
    hub.failures(type),
    hub.describe(type),
    hub.getRecent({ type }),
  ]);
  const settings: EventSettings = Object.fromEntries(
    settingNames.flatMap((name) => (description[name] === undefined ? [] : [[name, description[name]]])),
  );
  return {
    ...metrics,
    settings,
    ...(description.schema !== undefined && { schema: description.schema }),
    recentFailures,
    recentEvents: recent.newest,
    failedEvents: recent.failed,
  };
}

/**
 * Returns a copy of what is known of runs without the keys that they wait for. A key is data, such as an address, and
 * that of an approval lets its holder decide; `hub.waits()` and the command line have them.
 */
function withoutKeys<T>(shown: T): T {
  if (typeof shown !== 'object' || shown === null) return shown;
  const entries = Object.entries(shown).map(([name, value]): [string, unknown] => [
    name,
    // Only steps have a field of this name.
    name === 'waitsFor' ? withoutKey(value as StepWait) : withoutKeys(value),
  ]);
  // The copy has the form of the value: the key of a wait is optional.
  return (Array.isArray(shown) ? entries.map(([, value]) => value) : Object.fromEntries(entries)) as T;
}

function withoutKey({ event, ...wait }: StepWait): StepWait {
  return { ...wait, ...(event !== undefined && { event: { type: event.type } }) };
}

/** Nothing with the id is retained. */
export class NotRetainedError extends HubError {
  constructor(code: 'ERR_UNKNOWN_EVENT_ID' | 'ERR_UNKNOWN_REQUEST_ID') {
    super(code, 'nothing with this id is retained');
  }
}

/** Reads one event, of any type if `type` is absent. @throws {NotRetainedError} */
export async function readEventDetailsBody(hub: Hub, id: string, type?: string): Promise<EventDetailsBody> {
  const found = isName(id) ? await hub.find(id) : [];
  const events = type === undefined ? found : found.filter((event) => event.kind === 'event' && event.type === type);
  if (events.length === 0) throw new NotRetainedError('ERR_UNKNOWN_EVENT_ID');
  return { protocol: 2, now: hub.transport.clock.now(), events: withoutKeys(events) };
}

/** Reads the request with an id, or the one that the event with this id belongs to. @throws {NotRetainedError} */
export async function readRequestBody(hub: Hub, id: string): Promise<RequestBody> {
  if (!isName(id)) throw new NotRetainedError('ERR_UNKNOWN_REQUEST_ID');
  let request = await hub.getRequest(id);
  if (request.events.length === 0) {
    const [event] = await hub.find(id);
    if (event === undefined) throw new NotRetainedError('ERR_UNKNOWN_REQUEST_ID');
    request = await hub.getRequest(event.requestId);
  }
  return { protocol: 2, now: hub.transport.clock.now(), ...withoutKeys(request) };
}

const maxProcesses = 500;

/** Reads what runs wait for. */
export async function readWaitsBody(hub: Hub): Promise<WaitsBody> {
  const waits = await hub.waits();
  return { protocol: 2, now: hub.transport.clock.now(), ...withoutKeys(waits) };
}

/** Reads the running hubs. Those that handle the same share a list of it. */
export async function readProcessesBody(hub: Hub): Promise<ProcessesBody> {
  const all = await hub.processes();
  const registrations = new Map<string, ProcessesBody['registrations'][number] & { readonly index: number }>();
  const processes = all.slice(0, maxProcesses).map(({ events, workflows, ...process }) => {
    const key = JSON.stringify([events, workflows]);
    const registration = registrations.get(key) ?? { events, workflows, index: registrations.size };
    registrations.set(key, registration);
    return { ...process, handles: registration.index };
  });
  return {
    protocol: 2,
    now: hub.transport.clock.now(),
    processes,
    processCount: all.length,
    registrations: [...registrations.values()].map(({ events, workflows }) => ({ events, workflows })),
  };
}

/** Reads the recorded runs of an agent. None if there is no such agent. */
export async function readAgentRunsBody(hub: Hub, agent: string): Promise<AgentRunsBody> {
  const runs = isName(agent) ? await hub.agentRuns(agent) : [];
  return { protocol: 2, now: hub.transport.clock.now(), agent, runs: withoutKeys(runs) };
}
