import type {
  AgentSummary,
  EventColumns,
  EventColumnsDetails,
  EventKind,
  EventOverview,
  LastFailure,
} from '../../../server/dashboard/protocol.js';
import { counts } from './decode-statistics.js';
import { array, type Decoder, items, number, object, oneOf, optional, string } from './decoder.js';

const countColumn = optional(items(isNumber, 'a number'));
const nullableColumn = optional(items(isNumberOrNull, 'a number or null'));
const minutesColumn = optional(items(isMinutes, 'counts of at most 60 minutes'));

export const agentSummary = { name: string, model: string, tools: array(string), delegates: array(string) };

/** Counts of a type or a workflow per service. */
export const serviceCounts = array(
  object<NonNullable<EventOverview['services']>[number]>({
    service: string,
    processes: optional(number),
    metrics: counts,
  }),
);

const details = object<EventColumnsDetails>({
  index: number,
  description: optional(string),
  kind: oneOf<EventKind>(['handler', 'agent', 'debate', 'declared']),
  agent: optional(object<AgentSummary>(agentSummary)),
  onSuccess: optional(string),
  onFailure: optional(string),
  onComplete: optional(string),
  services: optional(serviceCounts),
  lastFailure: optional(object<LastFailure>({ at: number, name: string, message: string })),
});

/** Decodes event types as columns. A value beyond the end of a column reads like an absent column. */
export const eventColumns: Decoder<EventColumns> = object<EventColumns>({
  types: items((value) => typeof value === 'string', 'a string'),
  metrics: object<EventColumns['metrics']>({
    received: countColumn,
    completed: countColumn,
    failed: countColumn,
    cancelled: countColumn,
    pending: countColumn,
    active: countColumn,
    delayed: countColumn,
    suspended: countColumn,
    retried: countColumn,
    deduplicated: countColumn,
    deadLetters: countColumn,
    approvals: nullableColumn,
    oldestPendingAt: nullableColumn,
    lastReceivedAt: nullableColumn,
    lastFailedAt: nullableColumn,
  }),
  last5Min: object<EventColumns['last5Min']>({
    received: countColumn,
    completed: countColumn,
    failed: countColumn,
    cancelled: countColumn,
    retried: countColumn,
  }),
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
