import { HubError } from '../../errors.js';
import { UnknownEventIdError } from '../../hub/errors.js';
import { isTag } from '../../hub/events/tags.js';
import type { Hub } from '../../hub/hub.js';
import type { EventSummary } from '../../hub/introspection/event-search.js';
import { computeHealth } from '../../hub/introspection/health.js';
import type {
  EventIntrospection,
  HubIntrospection,
  WorkflowIntrospection,
} from '../../hub/introspection/introspection.js';
import type { RunListQuery } from '../../hub/introspection/run-list.js';
import { reachedBy, type WorkflowRuns } from '../../hub/introspection/workflow-runs.js';
import type { StepWait } from '../../hub/runs/run-introspection.js';
import { readOutcome } from '../../hub/schedule-states.js';
import { cronDueTimes, everyDueTimes } from '../../hub/schedules/due-times.js';
import { scheduleWords } from '../../hub/schedules/schedule-words.js';
import { isName } from '../../options.js';
import { backlogRate } from '../../transports/statistics/backlog.js';
import type {
  AgentRunsBody,
  ColumnsBody,
  ErrorsBody,
  EventBody,
  EventDetails,
  EventDetailsBody,
  EventOverview,
  EventSettings,
  IntrospectionBody,
  ProcessesBody,
  RequestBody,
  RunListBody,
  ScheduleOutlook,
  SchedulesBody,
  TaggedBody,
  WaitsBody,
  WorkflowOverview,
  WorkflowRunsBody,
} from '../protocol.js';
import { eventColumns, shownDetails, withoutStart } from './event-columns.js';

/** Reads everything that is registered on the hub. */
export async function readIntrospectionBody(hub: Hub, actions?: string): Promise<IntrospectionBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection, actions), events: introspection.events.map(shownEvent) };
}

/** Reads everything that is registered on the hub, with the event types as columns. */
export async function readColumnsBody(hub: Hub, actions?: string): Promise<ColumnsBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection, actions), events: eventColumns(introspection.events) };
}

function bodyWithoutEvents(
  introspection: HubIntrospection,
  actions: string | undefined,
): Omit<IntrospectionBody, 'events'> {
  const { hub, totals, workflows, agents, schedules, storedSchedules, releases, lost } = introspection;
  const { retainsDeadLetters: _, ...shownHub } = hub;
  return {
    protocol: 2,
    hub: shownHub,
    health: computeHealth(introspection),
    totals,
    workflows: withoutKeys(workflows.map(shownWorkflow)),
    agents,
    schedules,
    ...(storedSchedules !== undefined && { storedSchedules }),
    releases,
    ...(lost.length > 0 && { lost }),
    ...(actions !== undefined && { actions }),
    ...(typesWithShownTags(introspection).size > 0 && { showsTags: true }),
  };
}

/** Returns the event types and workflows whose tags everyone may see, and the workflows that their events trigger. */
function typesWithShownTags({ events, workflows }: HubIntrospection): ReadonlySet<string> {
  const types = new Set(events.flatMap(({ type, showTags }) => (showTags === true ? `event ${type}` : [])));
  const isShown = ({ showTags, trigger, triggers = [] }: WorkflowIntrospection): boolean =>
    showTags === true || [trigger, ...triggers].some((type) => types.has(`event ${type}`));
  return new Set([...types, ...workflows.filter(isShown).map(({ name }) => `workflow ${name}`)]);
}

const maxTagged = 100;
/** Number of pages of a search that are read at most: events of other types may have the tag too. */
const maxPages = 5;

/** Reads the events and runs with a tag, of types that show their tags. */
export async function readTaggedBody(hub: Hub, tag: string): Promise<TaggedBody> {
  const shown = typesWithShownTags(await hub.introspect());
  const events: EventSummary[] = [];
  let after: string | undefined;
  // An invalid tag matches nothing.
  const pages = shown.size > 0 && isTag(tag) ? maxPages : 0;
  for (let read = 0; read < pages && (read === 0 || after !== undefined) && events.length < maxTagged; read += 1) {
    const page = await hub.search({ tag, limit: 200, ...(after !== undefined && { after }) });
    events.push(...page.events.filter(({ kind, type }) => shown.has(`${kind} ${type}`)));
    after = page.after;
  }
  const isTruncated = events.length > maxTagged || after !== undefined;
  return { protocol: 2, now: hub.transport.clock.now(), tag, events: events.slice(0, maxTagged), isTruncated };
}

function shownWorkflow({
  lastFailure: _,
  hasTags: __,
  showTags: ___,
  recordsInput: ____,
  ...workflow
}: WorkflowIntrospection): WorkflowOverview {
  const { steps, runs } = workflow;
  return steps.length > 0 || runs.length === 0 ? workflow : { ...workflow, reached: reachedBy(runs) };
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
  'limit',
  'debounceMs',
  'debounceMaxMs',
] as const satisfies readonly (keyof EventSettings)[];

/** Reads the body of one event type. */
export async function readEventBody(hub: Hub, type: string): Promise<EventBody> {
  const [metrics, recentFailures, errorGroups, description, recent] = await Promise.all([
    hub.metrics(type),
    hub.failures(type),
    hub.errorGroups({ type }),
    hub.describe(type),
    hub.getRecent({ type }),
  ]);
  const { waiting } = backlogRate(metrics, metrics.recent, hub.transport.clock.now());
  const settings: EventSettings = Object.fromEntries(
    settingNames.flatMap((name) => (description[name] === undefined ? [] : [[name, description[name]]])),
  );
  return {
    ...metrics,
    settings,
    ...(description.schema !== undefined && { schema: description.schema }),
    recentFailures,
    errorGroups,
    recentEvents: recent.newest,
    failedEvents: recent.failed,
    ...(waiting > 0 && { backlog: await hub.backlog({ type }) }),
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
  const explanation = await explainFirst(hub, events);
  return { protocol: 2, now: hub.transport.clock.now(), events: withoutKeys(events), ...explanation };
}

/** Explains the first event that is not running. */
async function explainFirst(hub: Hub, events: readonly EventDetails[]): Promise<Pick<EventDetailsBody, 'explanation'>> {
  const held = events.find(({ endedAt, status }) => endedAt === undefined && status !== 'active');
  if (held === undefined) return {};
  try {
    return { explanation: await hub.explain(held.id) };
  } catch (error) {
    // It may have ended meanwhile, and not be retained.
    if (error instanceof UnknownEventIdError) return {};
    throw error;
  }
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
  const meant = request.events.filter((event) => event.id === id);
  const explanation = await explainFirst(hub, meant.length === 0 ? request.events : meant);
  return { protocol: 2, now: hub.transport.clock.now(), ...withoutKeys(request), ...explanation };
}

/** Reads the errors of all event types and workflows as groups. */
export async function readErrorsBody(hub: Hub): Promise<ErrorsBody> {
  return { protocol: 2, groups: await hub.errorGroups(), now: hub.transport.clock.now() };
}

const maxSchedules = 200;
const outlookMs = 12 * 3_600_000;
const maxDueTimes = 48;

/** Reads the due times of schedules in the next 12 hours, and the outcomes of the last ones. */
export async function readSchedulesBody(hub: Hub): Promise<SchedulesBody> {
  const { schedules } = await hub.introspect();
  const now = hub.transport.clock.now();
  const read = async (schedule: HubIntrospection['schedules'][number]): Promise<ScheduleOutlook> => {
    const { service, name, paused, processes, storedId } = schedule;
    const dueAt = paused !== undefined || processes === 0 ? [] : dueBefore(schedule, now, now + outlookMs);
    const last = await readOutcome(schedule, (id) => hub.find(id));
    const words = scheduleWords(schedule);
    return {
      service,
      name,
      ...(words !== undefined && { words }),
      dueAt: dueAt.slice(0, maxDueTimes),
      isDense: dueAt.length > maxDueTimes,
      ...(storedId !== undefined && { storedId }),
      ...(last !== undefined && { last }),
    };
  };
  return { protocol: 2, now, schedules: await Promise.all(schedules.slice(0, maxSchedules).map(read)) };
}

/** Returns the due times of a schedule until a time, and at most one more than a body has. */
function dueBefore(
  { cron, timeZone = 'UTC', everyMs, nextDueAt }: HubIntrospection['schedules'][number],
  now: number,
  until: number,
): readonly number[] {
  if (nextDueAt === undefined || nextDueAt > until) return [];
  const times = everyMs === undefined ? cronDueTimes(cron ?? '', timeZone) : everyDueTimes(everyMs);
  const dueAt: number[] = [];
  for (
    let at: number | undefined = nextDueAt;
    at !== undefined && at <= until && dueAt.length <= maxDueTimes;
    at = times.next(Math.max(at, now))
  ) {
    dueAt.push(at);
  }
  return dueAt;
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

/** Reads the runs of a workflow. None if there is no such workflow. */
export async function readWorkflowRunsBody(hub: Hub, workflow: string): Promise<WorkflowRunsBody> {
  const runs = isName(workflow) ? await hub.workflowRuns(workflow) : noRuns;
  return { protocol: 2, now: hub.transport.clock.now(), workflow, ...withoutKeys(runs) };
}

/** Reads a page of the runs of a workflow. None if there is no such workflow. @throws {InvalidOptionError} */
export async function readRunListBody(hub: Hub, workflow: string, query: RunListQuery): Promise<RunListBody> {
  const list = isName(workflow) ? await hub.listRuns(workflow, query) : { runs: [] };
  return { protocol: 2, now: hub.transport.clock.now(), workflow, ...withoutKeys(list) };
}

const noRuns: WorkflowRuns = { runs: [], waiting: [], steps: [], read: { newest: 0, failed: 0, waiting: 0 } };
