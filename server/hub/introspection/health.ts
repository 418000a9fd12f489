import { minuteMs } from '../../transports/limits.js';
import { waitingOf } from '../../transports/statistics/backlog.js';
import type { Counts, PeriodCounts } from '../../transports/statistics/stats.js';
import type { Pause } from '../pauses.js';
import type { HubIntrospection } from './introspection.js';
import type { LostProcess } from './process-roster.js';

/** Kind of a problem. */
export type ProblemKind =
  | 'failing'
  | 'backlog'
  | 'oldest-pending'
  | 'no-process'
  | 'lost-process'
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
  /**
   * Epoch milliseconds at which the condition began, or about then: of failures, the minute since which they have been
   * more frequent than before, absent if the last 20 minutes do not tell; without a process, the end of the last one, as
   * far as releases tell; of a backlog, the end of the minute in which the first event that waits was received.
   */
  readonly since?: number;
  /** Epoch milliseconds of its last occurrence. */
  readonly lastAt?: number;
  readonly lastError?: { readonly name: string; readonly message: string };
  /** Workflows that fail with the same error because a child run fails: they have no problem of their own. */
  readonly parents?: readonly string[];
  /** Number of dead letters, of waiting approvals, of runs that wait for a version, or of lost processes. */
  readonly count?: number;
  /** Handlers that lost processes ran: their events were released. */
  readonly active?: number;
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
  /** Pauses in effect. What they hold counts neither as failing nor as waiting for too long. */
  readonly paused: readonly Pause[];
}

/** Options of `hub.health`. */
export interface HealthOptions {
  /**
   * Only the problems of this service: of the event types, workflows and schedules that it handles or has events of, by
   * its own counts. Failures of the last 5 minutes are those of all services of a type.
   * @default all services
   */
  service?: string;
}

/** Result of `hub.ready()`. */
export interface Readiness {
  readonly isReady: boolean;
  /**
   * Reason not to be ready. `not-started`: before the end of `start`. `draining`: since the begin of `stop`.
   * `transport-silent`: the transport did not answer within 5 seconds, or with an error. `not-consuming`: the transport
   * does not know the hub, which lost its connection and has yet to return.
   */
  readonly reason?: 'not-started' | 'draining' | 'transport-silent' | 'not-consuming';
}

const maxProblems = 50;
const minFailingShare = 0.01;
/** Number of failures from which they rank by it; fewer of them come after what waits for long. */
const minFailures = 5;
const minBacklog = 100;
const longWaitMs = 5 * minuteMs;
const lostMs = 15 * minuteMs;
const kinds: readonly ProblemKind[] = [
  'no-process',
  'lost-process',
  'failing',
  'oldest-pending',
  'backlog',
  'dead-letters',
  'overdue-schedule',
  'approval-waiting',
  'awaiting-version',
];

/** Part of an introspection from which the health derives. */
export type HealthSource = Pick<
  HubIntrospection,
  'hub' | 'events' | 'workflows' | 'schedules' | 'pauses' | 'releases' | 'lost'
>;

/**
 * Derives the problems of a hub:
 *
 * - `failing`: events failed in the last 5 minutes, unless all dead letters were replayed since; an error from 1 % on
 * - `no-process`: events or runs wait for a service without a running process; an error
 * - `lost-process`: processes with handlers ended in the last 15 minutes without `hub.stop()`
 * - `backlog`: 100 events or more wait, and fewer ended than were received in the last 5 minutes; an error if one of them
 *   waits for more than 5 minutes
 * - `oldest-pending`: an event waits for more than 5 minutes; an error if none of its type runs or ended in the last 5
 *   minutes. Not known while some are delayed or suspended, unless many more wait and none ended in the last 5 minutes
 * - `dead-letters`: dead letters are open
 * - `overdue-schedule`: no running process has the schedule
 * - `approval-waiting`: calls of tools wait for an approval
 * - `awaiting-version`: runs wait for a process with a higher version of their workflow
 *
 * A paused target is no problem, except for its dead letters, approvals and versions.
 *
 * The worst come first: errors; lost processes and events that wait for long; failures of less than 5 events; what remains.
 * Among these the problem of the most events comes first.
 */
export function computeHealth(source: HealthSource): Health {
  const { now, startedAt } = source.hub;
  const problems = [
    ...source.events.flatMap((event) => countProblems(event, { eventType: event.type }, source)),
    ...mergeParents(
      source.workflows.map((workflow) => ({
        problems: countProblems(workflow, { workflow: workflow.name }, source),
        failure: workflow.lastFailure,
        name: workflow.name,
      })),
    ),
    ...source.events.flatMap((event) => approvalProblem({ eventType: event.type }, event.metrics)),
    ...source.workflows.flatMap((one) => approvalProblem({ workflow: one.name }, one.metrics)),
    ...source.workflows.flatMap(versionProblem),
    ...lossProblems(source),
    ...source.schedules
      .filter(
        ({ processes, lastDueAt, paused }) =>
          paused === undefined && processes === 0 && (startedAt !== null || lastDueAt !== undefined),
      )
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
  const isFailing = problems.some(({ severity }) => severity === 'error');
  return {
    status: isFailing ? 'failing' : problems.length > 0 ? 'degraded' : 'ok',
    problems: problems.slice(0, maxProblems),
    problemCount: problems.length,
    paused: source.pauses,
  };
}

function approvalProblem(
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  { approvals: count = 0 }: Pick<Counts, 'approvals'>,
): Problem[] {
  return count === 0 ? [] : [{ kind: 'approval-waiting', severity: 'warning', ...subject, count }];
}

/** Returns the losses of each service. */
function lossProblems({ hub: { now }, lost }: HealthSource): Problem[] {
  const byService = new Map<string, LostProcess[]>();
  for (const process of lost.filter(({ lostAt }) => now - lostAt < lostMs)) {
    byService.set(process.service, [...(byService.get(process.service) ?? []), process]);
  }
  return [...byService].map(([service, all]) => ({
    kind: 'lost-process',
    severity: 'warning',
    service,
    count: all.length,
    active: sumOf(all.map(({ active }) => active)),
    lastAt: Math.max(...all.map(({ lostAt }) => lostAt)),
  }));
}

function versionProblem({ name, metrics, runs }: HubIntrospection['workflows'][number]): Problem[] {
  const { awaitingVersion: count = 0 } = metrics;
  if (count === 0) return [];
  const version = Math.max(...runs.map(({ neededVersion = 0 }) => neededVersion), 0);
  return [{ kind: 'awaiting-version', severity: 'warning', workflow: name, count, ...(version > 0 && { version }) }];
}

type Counted = Pick<
  HubIntrospection['events'][number],
  'metrics' | 'recent' | 'services' | 'lastFailure' | 'processes' | 'paused' | 'hasKey' | 'concurrencyPerKey'
>;

function countProblems(
  counted: Counted,
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  { hub: { now, retainsDeadLetters }, releases }: HealthSource,
): Problem[] {
  const { metrics, services = [], paused } = counted;
  const isPaused = paused !== undefined;
  const failing = isPaused ? undefined : failingProblem(counted, subject, retainsDeadLetters, now);
  const abandoned = services
    .filter(({ processes, metrics: { pending } }) => !isPaused && processes === 0 && pending > 0)
    .map(({ service, metrics: { pending, oldestPendingAt } }): Problem => {
      const since = releases.findLast((release) => release.service === service)?.endedAt ?? oldestPendingAt;
      return {
        ...{ kind: 'no-process', severity: 'error', ...subject, service, pending },
        ...(since !== undefined && { since }),
      };
    });
  const waiting = isPaused || abandoned.length > 0 ? undefined : waitingProblem(counted, subject, now);
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
  now: number,
): Problem | undefined {
  const failed = failedIn(recent.last5Min);
  if (failed === 0 || (retainsDeadLetters && metrics.deadLetters === 0)) return undefined;
  const ended = recent.last5Min.completed + failed;
  const { lastFailedAt, deadLetters } = metrics;
  const since = failingSince(recent.minutes, metrics.received, now);
  return {
    kind: 'failing',
    severity: failed / ended >= minFailingShare ? 'error' : 'warning',
    ...subject,
    failed,
    ended,
    ...(since !== undefined && { since }),
    ...(lastFailedAt !== undefined && { lastAt: lastFailedAt }),
    ...(lastFailure !== undefined && { lastError: { name: lastFailure.name, message: lastFailure.message } }),
    ...(deadLetters > 0 && { count: deadLetters }),
  };
}

function waitingProblem(
  { metrics, recent: { last5Min, minutes }, services, hasKey, concurrencyPerKey }: Counted,
  subject: Pick<Problem, 'eventType' | 'workflow'>,
  now: number,
): Problem | undefined {
  const { pending, delayed, suspended, active, oldestPendingAt, awaitingVersion = 0 } = metrics;
  const waiting = waitingOf(metrics);
  const ended = last5Min.completed + last5Min.failed;
  const copies = services?.length ?? 1;
  const notReady = delayed + suspended + awaitingVersion;
  // The oldest pending event waits if none runs. Of events with keys it is taken to wait: some of them may wait for long
  // while others start.
  const isOldest = notReady === 0 && (active === 0 || hasKey === true || concurrencyPerKey !== undefined);
  // Each service receives an event. What waits beyond the number of those that were received was received before.
  const isMore = waiting > last5Min.received / copies;
  // What was delayed or suspended may have become ready a moment ago, unless there is much else of which nothing ends.
  const isReady = notReady === 0 || (ended === 0 && waiting >= Math.max(minBacklog, 10 * notReady));
  const isOld = waiting > 0 && oldestPendingAt !== undefined && now - oldestPendingAt >= longWaitMs;
  const isLong = isOld && (isOldest || (isMore && isReady));
  const since = isOldest ? oldestPendingAt : waitingSince(waiting * copies, minutes.received, oldestPendingAt, now);
  const problem = { ...subject, pending, ...(since !== undefined && { since }) };
  if (waiting >= minBacklog && last5Min.received > ended) {
    return { kind: 'backlog', severity: isLong ? 'error' : 'warning', ...problem };
  }
  if (!isLong) return undefined;
  return { kind: 'oldest-pending', severity: active === 0 && ended === 0 ? 'error' : 'warning', ...problem };
}

/**
 * Returns the end of the minute in which the first of the newest events was received, as many as given: so many wait. If
 * these are more than the known minutes have, the acceptance of the oldest pending event.
 */
function waitingSince(
  events: number,
  received: readonly number[],
  oldestPendingAt: number | undefined,
  now: number,
): number | undefined {
  let [count, minute] = [0, Math.floor(now / minuteMs) + 1];
  for (const each of received.toReversed()) {
    if (count >= events) break;
    count += each;
    minute -= 1;
  }
  return count < events ? oldestPendingAt : Math.max(Math.min(now, (minute + 1) * minuteMs), oldestPendingAt ?? 0);
}

/**
 * Returns the start of the minute since which events fail more often than before. That of the complete minutes stays for
 * a minute, so the current one counts only if they do not tell.
 *
 * @param total number of events that the type has received since the start
 */
function failingSince(
  { received, failed }: Counted['recent']['minutes'],
  total: number,
  now: number,
): number | undefined {
  // Of those that failed, some were received in an earlier minute.
  const events = received.map((count, index) => Math.max(count, failed[index] ?? 0));
  const complete = events.slice(0, -1);
  const index = changeOf(complete, failed, total - (received.at(-1) ?? 0)) ?? changeOf(events, failed, total);
  return index === undefined ? undefined : (Math.floor(now / minuteMs) - (failed.length - 1 - index)) * minuteMs;
}

/**
 * Returns the index of the minute at which one rate of failures before it and another one since explain the minutes best.
 * `undefined` if they do not tell.
 */
function changeOf(events: readonly number[], failed: readonly number[], total: number): number | undefined {
  const all = { events: sumOf(events), failed: sumOf(failed.slice(0, events.length)) };
  const first = events.findIndex((count) => count > 0);
  // The first events of the type failed.
  if (all.events >= total && (failed[first] ?? 0) > 0) return first;
  let [best, gain] = [-1, leastGain];
  let since = { events: 0, failed: 0 };
  for (let index = events.length - 1; index > 0; index -= 1) {
    since = { events: since.events + (events[index] ?? 0), failed: since.failed + (failed[index] ?? 0) };
    const before = { events: all.events - since.events, failed: all.failed - since.failed };
    const isMore = since.failed >= 3 && since.failed * before.events > 2 * before.failed * since.events;
    if (!isMore) continue;
    const gained = likelihoodOf(since) + likelihoodOf(before) - likelihoodOf(all);
    if (gained > gain) [best, gain] = [index, gained];
  }
  return best < 0 ? undefined : best;
}

/** Least logarithm of the likelihood ratio of two rates to one. By chance alone it is higher in 1 of 30 cases. */
const leastGain = 4;

/** Returns the logarithm of the likelihood of failures at their mean rate. */
function likelihoodOf({ events, failed }: { readonly events: number; readonly failed: number }): number {
  const termOf = (count: number): number => (count === 0 ? 0 : count * Math.log(count / events));
  return termOf(failed) + termOf(events - failed);
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

interface WorkflowProblems {
  readonly name: string;
  readonly problems: readonly Problem[];
  readonly failure: HubIntrospection['workflows'][number]['lastFailure'];
}

/** Returns the problems of workflows, of a parent and a child with the same error only that of the child. */
function mergeParents(workflows: readonly WorkflowProblems[]): Problem[] {
  const byError = new Map<string, WorkflowProblems[]>();
  for (const workflow of workflows) {
    const { failure, problems } = workflow;
    if (failure === undefined || problems.every(({ kind }) => kind !== 'failing')) continue;
    const key = JSON.stringify([failure.requestId, failure.name, failure.message]);
    byError.set(key, [...(byError.get(key) ?? []), workflow]);
  }
  const parentsOf = new Map<string, readonly string[]>();
  const merged = new Set<string>();
  for (const same of byError.values()) {
    const [child, ...parents] = same.sort((a, b) => (a.failure?.at ?? 0) - (b.failure?.at ?? 0));
    if (child === undefined || parents.length === 0) continue;
    parentsOf.set(
      child.name,
      parents.map(({ name }) => name),
    );
    for (const { name } of parents) merged.add(name);
  }
  return workflows.flatMap(({ name, problems }) => {
    const parents = parentsOf.get(name);
    return problems
      .filter(({ kind }) => kind !== 'failing' || !merged.has(name))
      .map((problem) => (problem.kind === 'failing' && parents !== undefined ? { ...problem, parents } : problem));
  });
}

function failedIn({ failed, cancelled }: PeriodCounts): number {
  return failed - cancelled;
}

function worstFirst(a: Problem, b: Problem): number {
  return (
    rank(a) - rank(b) || impact(b) - impact(a) || share(b) - share(a) || kinds.indexOf(a.kind) - kinds.indexOf(b.kind)
  );
}

const urgent: ReadonlySet<ProblemKind> = new Set(['lost-process', 'backlog', 'oldest-pending']);

function rank({ kind, severity, failed = 0 }: Problem): number {
  if (kind === 'failing' && failed < minFailures) return 2;
  if (severity === 'error') return 0;
  return urgent.has(kind) ? 1 : 3;
}

function share({ failed = 0, ended = 1 }: Problem): number {
  return failed / ended;
}

/** Returns the number of events that a problem affects, which is unknown for a lost process. */
function impact({ kind, failed, pending, count }: Problem): number {
  if (kind === 'lost-process') return Number.MAX_SAFE_INTEGER;
  return failed ?? pending ?? count ?? 0;
}
