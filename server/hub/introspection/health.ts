import { minuteMs } from '../../transports/limits.js';
import type { Counts, PeriodCounts } from '../../transports/statistics/stats.js';
import type { HubIntrospection } from './introspection.js';

/** Kind of a problem. */
export type ProblemKind =
  | 'failing'
  | 'backlog'
  | 'oldest-pending'
  | 'no-process'
  | 'dead-letters'
  | 'overdue-schedule'
  | 'approval-waiting'
  | 'awaiting-version';

/** Condition that needs attention. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly severity: 'error' | 'warning';
  readonly eventType?: string;
  readonly workflow?: string;
  readonly service?: string;
  readonly schedule?: string;
  /** Events that failed in the last 5 minutes, without cancelled ones. */
  readonly failed?: number;
  /** Events that ended in the last 5 minutes, without cancelled ones. */
  readonly ended?: number;
  readonly pending?: number;
  /** Epoch milliseconds at which the condition began. */
  readonly since?: number;
  /** Epoch milliseconds of its last occurrence. */
  readonly lastAt?: number;
  readonly lastError?: { readonly name: string; readonly message: string };
  /** Number of dead letters, of waiting approvals, or of runs that wait for a version. */
  readonly count?: number;
  /** Highest version of the workflow that one of its latest runs waits for. */
  readonly version?: number;
}

/** Health of a hub. Result of `hub.health()`. */
export interface Health {
  /** `failing` with an error among the problems, `degraded` with warnings alone, `ok` without problems. */
  readonly status: 'ok' | 'degraded' | 'failing';
  /** At most 50 problems, the worst first. */
  readonly problems: readonly Problem[];
  /** Number of all problems. */
  readonly problemCount: number;
}

const maxProblems = 50;
const minFailingShare = 0.01;
const minBacklog = 100;
const longWaitMs = 5 * minuteMs;
const kinds: readonly ProblemKind[] = [
  'failing',
  'no-process',
  'backlog',
  'oldest-pending',
  'dead-letters',
  'overdue-schedule',
  'approval-waiting',
  'awaiting-version',
];

/** Part of an introspection from which the health derives. */
export type HealthSource = Pick<HubIntrospection, 'hub' | 'events' | 'workflows' | 'schedules'>;

/**
 * Derives the problems of a hub:
 *
 * - `failing`: events failed in the last 5 minutes, unless all dead letters were replayed since; an error from 1 % on
 * - `no-process`: events or runs wait for a service without a running process; an error
 * - `backlog`: 100 events or more wait, and fewer ended than were received in the last 5 minutes
 * - `oldest-pending`: an event waits for more than 5 minutes, and none of its type is delayed or suspended
 * - `dead-letters`: dead letters are open
 * - `overdue-schedule`: no running process has the schedule
 * - `approval-waiting`: calls of tools wait for an approval
 * - `awaiting-version`: runs wait for a process with a higher version of their workflow
 */
export function computeHealth(source: HealthSource): Health {
  const { now, startedAt } = source.hub;
  const problems = [
    ...source.events.flatMap((event) => countProblems(event, { eventType: event.type }, source.hub)),
    ...source.workflows.flatMap((workflow) => countProblems(workflow, { workflow: workflow.name }, source.hub)),
    ...source.events.flatMap((event) => approvalProblem({ eventType: event.type }, event.metrics)),
    ...source.workflows.flatMap((one) => approvalProblem({ workflow: one.name }, one.metrics)),
    ...source.workflows.flatMap(versionProblem),
    ...source.schedules
      .filter(({ processes, lastDueAt }) => processes === 0 && (startedAt !== null || lastDueAt !== undefined))
      .map(
        ({ name, service, lastDueAt }): Problem => ({
          kind: 'overdue-schedule',
          severity: 'warning',
          schedule: name,
          service,
          ...(lastDueAt !== undefined && lastDueAt <= now && { lastAt: lastDueAt }),
        }),
      ),
  ].sort(worstFirst);
  const isFailing = problems[0]?.severity === 'error';
  return {
    status: isFailing ? 'failing' : problems.length > 0 ? 'degraded' : 'ok',
    problems: problems.slice(0, maxProblems),
    problemCount: problems.length,
  };
}

function approvalProblem(
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  { approvals: count = 0 }: Pick<Counts, 'approvals'>,
): Problem[] {
  return count === 0 ? [] : [{ kind: 'approval-waiting', severity: 'warning', ...subject, count }];
}

function versionProblem({ name, metrics, runs }: HubIntrospection['workflows'][number]): Problem[] {
  const { awaitingVersion: count = 0 } = metrics;
  if (count === 0) return [];
  const version = Math.max(...runs.map(({ neededVersion = 0 }) => neededVersion), 0);
  return [{ kind: 'awaiting-version', severity: 'warning', workflow: name, count, ...(version > 0 && { version }) }];
}

type Counted = Pick<
  HubIntrospection['events'][number],
  'metrics' | 'recent' | 'services' | 'lastFailure' | 'processes'
>;

function countProblems(
  counted: Counted,
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  { now, retainsDeadLetters }: HubIntrospection['hub'],
): Problem[] {
  const { metrics, recent, services = [] } = counted;
  const failing = failingProblem(counted, subject, retainsDeadLetters);
  const abandoned = services
    .filter(({ processes, metrics: { pending } }) => processes === 0 && pending > 0)
    .map(
      ({ service, metrics: { pending, oldestPendingAt } }): Problem => ({
        kind: 'no-process',
        severity: 'error',
        ...subject,
        service,
        pending,
        ...(oldestPendingAt !== undefined && { since: oldestPendingAt }),
      }),
    );
  const waiting = abandoned.length > 0 ? undefined : waitingProblem(metrics, recent.last5Min, subject, now);
  const { deadLetters, lastFailedAt } = metrics;
  const openDeadLetters: Problem | undefined =
    deadLetters > 0 && failing === undefined
      ? {
          kind: 'dead-letters',
          severity: 'warning',
          ...subject,
          count: deadLetters,
          ...(lastFailedAt !== undefined && { lastAt: lastFailedAt }),
        }
      : undefined;
  return [failing, ...abandoned, waiting, openDeadLetters].filter((problem) => problem !== undefined);
}

function failingProblem(
  { metrics, recent, lastFailure }: Counted,
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  retainsDeadLetters: boolean,
): Problem | undefined {
  const failed = failedIn(recent.last5Min);
  if (failed === 0 || (retainsDeadLetters && metrics.deadLetters === 0)) return undefined;
  const ended = recent.last5Min.completed + failed;
  const { lastFailedAt, deadLetters } = metrics;
  return {
    kind: 'failing',
    severity: failed / ended >= minFailingShare ? 'error' : 'warning',
    ...subject,
    failed,
    ended,
    ...(lastFailedAt !== undefined && { lastAt: lastFailedAt }),
    ...(lastFailure !== undefined && { lastError: { name: lastFailure.name, message: lastFailure.message } }),
    ...(deadLetters > 0 && { count: deadLetters }),
  };
}

function waitingProblem(
  { pending, delayed, suspended, active, oldestPendingAt }: Counts,
  last5Min: PeriodCounts,
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  now: number,
): Problem | undefined {
  const waiting = pending - delayed - suspended - active;
  const since = oldestPendingAt === undefined ? {} : { since: oldestPendingAt };
  if (waiting >= minBacklog && last5Min.received > last5Min.completed + last5Min.failed) {
    return { kind: 'backlog', severity: 'warning', ...subject, pending, ...since };
  }
  // The oldest event may be one that waits for its time, so it says nothing if there are such events.
  if (waiting <= 0 || delayed > 0 || suspended > 0 || oldestPendingAt === undefined) return undefined;
  if (now - oldestPendingAt < longWaitMs) return undefined;
  return { kind: 'oldest-pending', severity: 'warning', ...subject, pending, ...since };
}

function failedIn({ failed, cancelled }: PeriodCounts): number {
  return failed - cancelled;
}

function worstFirst(a: Problem, b: Problem): number {
  if (a.severity !== b.severity) return a.severity === 'error' ? -1 : 1;
  if (a.kind !== b.kind) return kinds.indexOf(a.kind) - kinds.indexOf(b.kind);
  return weight(b) - weight(a);
}

function weight({ failed, ended = 1, pending, count }: Problem): number {
  return failed === undefined ? (pending ?? count ?? 0) : failed / ended;
}
