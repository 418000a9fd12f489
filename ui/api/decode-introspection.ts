import {
  type AgentOverview,
  type AgentSummary,
  type ColumnsBody,
  countersOf,
  type EventColumns,
  type EventColumnsDetails,
  type EventKind,
  type EventOverview,
  type HealthBody,
  type LastFailure,
  type LostProcess,
  type Pause,
  type PauseSummary,
  type Problem,
  periodCounters,
  type ReleaseIntrospection,
  type RunIntrospection,
  type WorkflowOverview,
} from '../../server/dashboard/protocol.js';
import { counts, durations, histories, recentActivity } from './decode-statistics.js';
import { reachedSteps, step, usage } from './decode-step.js';
import {
  array,
  boolean,
  type Decoder,
  forEach,
  items,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
} from './decoder.js';

const countColumn = optional(items(isNumber, 'a number'));
const nullableColumn = optional(items(isNumberOrNull, 'a number or null'));
const minutesColumn = optional(items(isMinutes, 'counts of at most 60 minutes'));

const agentSummary = {
  name: string,
  model: string,
  tools: array(string),
  delegates: array(string),
  handoffs: optional(array(string)),
};

/** Counts of a type or a workflow per service. */
const serviceCounts = array(
  object<NonNullable<EventOverview['services']>[number]>({
    service: string,
    processes: optional(number),
    metrics: counts,
  }),
);

const pauseSummary = { by: string, reason: string, since: number };

const details = object<EventColumnsDetails>({
  index: number,
  description: optional(string),
  kind: oneOf<EventKind>(['handler', 'agent', 'debate', 'declared']),
  agent: optional(object<AgentSummary>(agentSummary)),
  concurrency: optional(number),
  onSuccess: optional(string),
  onFailure: optional(string),
  onComplete: optional(string),
  services: optional(serviceCounts),
  lastFailure: optional(object<LastFailure>({ at: number, name: string, message: string })),
  paused: optional(object<PauseSummary>(pauseSummary)),
});

/** Decodes event types as columns. A value beyond the end of a column reads like an absent column. */
export const eventColumns: Decoder<EventColumns> = object<EventColumns>({
  types: items((value) => typeof value === 'string', 'a string'),
  metrics: object<EventColumns['metrics']>({
    ...forEach(countersOf('stored', 'live'), countColumn),
    ...forEach(countersOf('optional', 'latest', 'oldest'), nullableColumn),
  }),
  last5Min: object<EventColumns['last5Min']>(forEach(periodCounters, countColumn)),
  waitP95Ms: nullableColumn,
  durationP95Ms: nullableColumn,
  processes: nullableColumn,
  minutes: object<EventColumns['minutes']>({ received: minutesColumn, failed: minutesColumn }),
  details: array(details),
});

/** Returns true for a finite number: one that gives 0 less itself. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value - value === 0;
}

function isNumberOrNull(value: unknown): value is number | null {
  return value === null || isNumber(value);
}

const minutesPattern = /^(?:\d{1,15}(?: \d{1,15}){0,59})?$/;

function isMinutes(value: unknown): value is string {
  return typeof value === 'string' && minutesPattern.test(value);
}

/** Parts of the body of `GET /api/introspection?events=columns` that the page reads. */
export interface Introspection extends Omit<ColumnsBody, 'protocol' | 'schedules'> {
  readonly schedules?: readonly Schedule[] | undefined;
}

/** Schedule of a service, as the page reads it. */
export type Schedule = Omit<NonNullable<ColumnsBody['schedules']>[number], 'catchUp' | 'lastId'>;

/** Description of the hub. `now` is the time at which the body was built. */
export type HubInfo = Omit<ColumnsBody['hub'], 'processes'>;

const namedError = object<NonNullable<RunIntrospection['error']>>({ name: string, message: string });

export const runFields = {
  id: string,
  service: string,
  requestId: string,
  status: oneOf<RunIntrospection['status']>(['waiting', 'active', 'suspended', 'completed', 'failed']),
  attempt: number,
  acceptedAt: number,
  endedAt: optional(number),
  inbox: optional(object<NonNullable<RunIntrospection['inbox']>>({ kept: number, dropped: number })),
  error: optional(namedError),
  steps: array(step),
};

const workflow = object<WorkflowOverview>({
  name: string,
  description: optional(string),
  trigger: optional(string),
  triggers: optional(array(string)),
  invokedBy: optional(array(string)),
  concurrencyPerKey: optional(number),
  processes: optional(number),
  steps: array(
    object<WorkflowOverview['steps'][number]>({
      name: string,
      kind: oneOf<WorkflowOverview['steps'][number]['kind']>(['step', 'agent']),
      agent: optional(string),
      stage: optional(number),
    }),
  ),
  onSuccess: optional(string),
  onFailure: optional(string),
  onComplete: optional(string),
  metrics: counts,
  services: optional(serviceCounts),
  recent: optional(recentActivity),
  reached: optional(reachedSteps),
  paused: optional(object<PauseSummary>(pauseSummary)),
  runs: array(object<Omit<RunIntrospection, 'neededVersion'>>(runFields)),
});

const agent = object<AgentOverview>({
  ...agentSummary,
  description: optional(string),
  runs: map(number),
  active: optional(number),
  suspended: optional(number),
  tokenUsage: usage,
  durationMs: optional(durations),
  approvalsWaiting: optional(number),
  begun: optional(number),
  hours: optional(
    array(
      object<NonNullable<AgentOverview['hours']>[number]>({
        at: number,
        runs: number,
        tokens: number,
        cost: optional(number),
      }),
    ),
  ),
  tokenBudget: optional(number),
  costBudget: optional(number),
  spendLimits: optional(
    array(
      object<NonNullable<AgentOverview['spendLimits']>[number]>({
        max: number,
        perMs: number,
        unit: string as Decoder<'tokens' | 'cost'>,
        isKeyed: optional(boolean as Decoder<true>),
      }),
    ),
  ),
});

const schedule = object<Schedule>({
  name: string,
  description: optional(string),
  cron: optional(string),
  timeZone: optional(string),
  everyMs: optional(number),
  emit: optional(string),
  start: optional(string),
  service: string,
  processes: number,
  storedId: optional(string),
  lastDueAt: optional(number),
  nextDueAt: optional(number),
  laterDueAt: optional(array(number)),
  paused: optional(object<PauseSummary>(pauseSummary)),
});

const problem: Decoder<Problem> = object<Omit<Problem, 'parents'>>({
  // A newer server may report kinds that this page does not know. It shows them without a rule of their own.
  kind: string as Decoder<Problem['kind']>,
  severity: oneOf<Problem['severity']>(['error', 'warning']),
  eventType: optional(string),
  workflow: optional(string),
  service: optional(string),
  schedule: optional(string),
  failed: optional(number),
  ended: optional(number),
  pending: optional(number),
  since: optional(number),
  lastAt: optional(number),
  lastError: optional(namedError),
  count: optional(number),
  active: optional(number),
  version: optional(number),
});

export const introspection: Decoder<Introspection> = object<Introspection>({
  hub: object<HubInfo>({
    service: string,
    transport: string,
    version: string,
    startedAt: nullable(number),
    now: number,
  }),
  health: object<HealthBody>({
    status: oneOf<HealthBody['status']>(['ok', 'degraded', 'failing']),
    problems: array(problem),
    problemCount: number,
    // A newer server may pause other kinds of targets: the page shows any name.
    paused: optional(
      array(object<Pause>({ target: map(string) as Decoder<object> as Decoder<Pause['target']>, ...pauseSummary })),
    ),
  }),
  totals: object<Introspection['totals']>({ metrics: counts, recent: recentActivity, histories }),
  events: eventColumns,
  workflows: array(workflow),
  agents: array(agent),
  schedules: optional(array(schedule)),
  storedSchedules: optional(number),
  releases: optional(
    array(
      object<ReleaseIntrospection>({ service: string, release: string, startedAt: number, endedAt: optional(number) }),
    ),
  ),
  lost: optional(
    array(
      object<LostProcess>({
        id: string,
        service: string,
        host: string,
        pid: number,
        release: optional(string),
        startedAt: number,
        lostAt: number,
        active: number,
      }),
    ),
  ),
  actions: optional(string),
  showsTags: optional(boolean),
});
