import type {
  AgentOverview,
  ColumnsBody,
  Health,
  Problem,
  RunIntrospection,
  WorkflowOverview,
} from '../../../server/dashboard/protocol.js';
import { agentSummary, eventColumns, serviceCounts } from './decode-columns.js';
import { counts, durations, histories, recentActivity } from './decode-statistics.js';
import { step } from './decode-step.js';
import { usage } from './decode-turn.js';
import { array, type Decoder, map, nullable, number, object, oneOf, optional, string } from './decoder.js';

/** Parts of the body of `GET /api/introspection?events=columns` that the page reads. */
export type Introspection = Omit<ColumnsBody, 'protocol'>;

/** Schedule of a service. */
export type Schedule = NonNullable<ColumnsBody['schedules']>[number];

/** Description of the hub. `now` is the time at which the body was built. */
export type HubInfo = ColumnsBody['hub'];

const namedError = object<NonNullable<RunIntrospection['error']>>({ name: string, message: string });

const run = object<RunIntrospection>({
  id: string,
  service: string,
  requestId: string,
  status: oneOf<RunIntrospection['status']>(['waiting', 'active', 'suspended', 'completed', 'failed']),
  attempt: number,
  acceptedAt: number,
  endedAt: optional(number),
  error: optional(namedError),
  steps: array(step),
});

const workflow = object<WorkflowOverview>({
  name: string,
  description: optional(string),
  trigger: optional(string),
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
  runs: array(run),
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
});

const schedule = object<Schedule>({
  name: string,
  description: optional(string),
  cron: optional(string),
  timeZone: optional(string),
  everyMs: optional(number),
  emit: optional(string),
  start: optional(string),
  catchUp: string as Decoder<Schedule['catchUp']>,
  service: string,
  processes: number,
  lastDueAt: optional(number),
  nextDueAt: optional(number),
  laterDueAt: optional(array(number)),
});

const problem = object<Problem>({
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
});

export const introspection: Decoder<Introspection> = object<Introspection>({
  hub: object<HubInfo>({
    service: string,
    transport: string,
    version: string,
    startedAt: nullable(number),
    now: number,
    processes: optional(number),
  }),
  health: object<Health>({
    status: oneOf<Health['status']>(['ok', 'degraded', 'failing']),
    problems: array(problem),
    problemCount: number,
  }),
  totals: object<Introspection['totals']>({ metrics: counts, recent: recentActivity, histories }),
  events: eventColumns,
  workflows: array(workflow),
  agents: array(agent),
  schedules: optional(array(schedule)),
});
