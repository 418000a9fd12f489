import type {
  AgentIntrospection,
  AgentSummary,
  Counts,
  EventBody,
  EventIntrospection,
  EventKind,
  IntrospectionBody,
  RunIntrospection,
  StepIntrospection,
  StepStatus,
  WorkflowIntrospection,
} from '../../server/dashboard/protocol.js';
import {
  array,
  boolean,
  type Decoder,
  decodeBody,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  string,
} from './decoder.js';
import { RequestError } from './request-error.js';

/** Description of the hub. `now` is omitted: an unchanged body comes from the browser's cache, with an old time. */
export type HubInfo = Omit<IntrospectionBody['hub'], 'now'>;

/** Parts of the body of `GET /api/introspection` that the page reads. */
export interface Introspection extends Pick<IntrospectionBody, 'events' | 'workflows' | 'agents'> {
  readonly hub: HubInfo;
}

/** Protocol version that this page reads. */
const PROTOCOL: IntrospectionBody['protocol'] = 1;

const countFields = {
  received: number,
  completed: number,
  failed: number,
  cancelled: number,
  pending: number,
  active: number,
  delayed: number,
  suspended: number,
  retried: number,
  lastReceivedAt: optional(number),
  lastFailedAt: optional(number),
};

const counts = object<Counts>(countFields);

const agentSummary = { name: string, model: string, tools: array(string), delegates: array(string) };

const event = object<EventIntrospection>({
  type: string,
  description: optional(string),
  kind: oneOf<EventKind>(['handler', 'agent', 'debate', 'declared']),
  agent: optional(object<AgentSummary>(agentSummary)),
  retry: optional(
    object<NonNullable<EventIntrospection['retry']>>({
      maxAttempts: number,
      initialDelayMs: number,
      maxDelayMs: number,
      factor: number,
      jitter: boolean,
    }),
  ),
  timeoutMs: optional(number),
  concurrency: optional(number),
  hasKey: optional(boolean),
  concurrencyPerKey: optional(number),
  debounceMs: optional(number),
  debounceMaxMs: optional(number),
  processes: optional(number),
  rate: optional(
    object<NonNullable<EventIntrospection['rate']>>({ max: number, perMs: number, perKey: optional(boolean) }),
  ),
  onSuccess: optional(string),
  onFailure: optional(string),
  onComplete: optional(string),
  schema: optional(record),
  metrics: counts,
  services: optional(
    array(
      object<NonNullable<EventIntrospection['services']>[number]>({
        service: string,
        processes: optional(number),
        metrics: counts,
      }),
    ),
  ),
});

const stepWait = object<NonNullable<StepIntrospection['waitsFor']>>({
  since: number,
  dueAt: optional(number),
  event: optional(
    object<NonNullable<NonNullable<StepIntrospection['waitsFor']>['event']>>({ type: string, key: optional(string) }),
  ),
  runId: optional(string),
});

const run = object<RunIntrospection>({
  id: string,
  service: string,
  requestId: string,
  status: oneOf<RunIntrospection['status']>(['waiting', 'active', 'suspended', 'completed', 'failed']),
  attempt: number,
  acceptedAt: number,
  endedAt: optional(number),
  error: optional(object<NonNullable<RunIntrospection['error']>>({ name: string, message: string })),
  steps: array(
    object<StepIntrospection>({
      name: string,
      kind: oneOf<StepIntrospection['kind']>(['run', 'emit', 'sleep', 'event', 'invoke']),
      status: oneOf<StepStatus>(['waiting', 'active', 'retrying', 'completed', 'failed']),
      attempt: optional(number),
      startedAt: optional(number),
      endedAt: optional(number),
      durationMs: optional(number),
      error: optional(
        object<NonNullable<StepIntrospection['error']>>({ name: string, message: string, code: optional(string) }),
      ),
      waitsFor: optional(stepWait),
      // The dashboard never receives outputs.
      output: () => undefined,
    }),
  ),
});

const workflow = object<WorkflowIntrospection>({
  name: string,
  description: optional(string),
  trigger: optional(string),
  processes: optional(number),
  steps: array(
    object<WorkflowIntrospection['steps'][number]>({
      name: string,
      kind: oneOf<WorkflowIntrospection['steps'][number]['kind']>(['step', 'agent']),
      agent: optional(string),
    }),
  ),
  onSuccess: optional(string),
  onFailure: optional(string),
  onComplete: optional(string),
  metrics: counts,
  runs: array(run),
});

const agent = object<AgentIntrospection>({
  ...agentSummary,
  description: optional(string),
  runs: map(number),
  tokenUsage: object<AgentIntrospection['tokenUsage']>({
    promptTokens: number,
    completionTokens: number,
    totalTokens: number,
  }),
});

export const introspection: Decoder<Introspection> = object<Introspection>({
  hub: object<HubInfo>({ service: string, transport: string, version: string, startedAt: nullable(number) }),
  events: array(event),
  workflows: array(workflow),
  agents: array(agent),
});

export const eventBody: Decoder<EventBody> = object<EventBody>({
  ...countFields,
  type: string,
  deduplicated: number,
  durationMs: object<EventBody['durationMs']>({
    p50: nullable(number),
    p95: nullable(number),
    p99: nullable(number),
    max: nullable(number),
  }),
  perMinute: array(
    object<EventBody['perMinute'][number]>({ at: number, received: number, completed: number, failed: number }),
  ),
  recentFailures: array(
    object<EventBody['recentFailures'][number]>({
      id: string,
      at: number,
      attempt: number,
      requestId: optional(string),
      step: optional(string),
      name: string,
      message: string,
    }),
  ),
});

/**
 * Parses the body of `GET /api/introspection`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseIntrospection(body: unknown): Introspection {
  const { protocol } = decodeBody(record, body);
  if (protocol !== PROTOCOL) {
    const served = typeof protocol === 'number' ? `protocol ${protocol}` : 'an unknown protocol';
    throw new RequestError(
      `This page reads protocol ${PROTOCOL}, but the server sends ${served}. Reload the page to get a matching version.`,
    );
  }
  return decodeBody(introspection, body);
}

/**
 * Parses the body of `GET /api/events/:type`.
 *
 * @throws {RequestError} if the shape is not the expected one
 */
export function parseEvent(body: unknown): EventBody {
  return decodeBody(eventBody, body);
}
