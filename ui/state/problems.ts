import type { Pause, Problem } from '../../server/dashboard/protocol.js';
import { formatAge, formatAgo } from '../format/duration.js';
import { counted, formatCount, formatPercent } from '../format/number.js';
import { type FailureLevel, failureLevel } from './event-row.js';
import { viewPath } from './navigation.js';

/** Release that replaced another one, at a time in epoch milliseconds. */
export interface StartedRelease {
  readonly at: number;
  readonly label: string;
}

/** Problem in words. */
export interface ProblemText {
  readonly icon: 'triangle' | 'clock';
  readonly tone: 'failed' | 'stale';
  /** Severity of failures; absent for other problems. */
  readonly level?: FailureLevel;
  /** Event type, workflow, service or schedule. */
  readonly subject: string;
  /** Hash of the subject's view, without a query; that of the processes if it has none. */
  readonly path: string;
  /** Main fact. */
  readonly fact: string;
  /** Main fact for little width. */
  readonly shortFact: string;
  /** Further facts: the error, if it is known, the release and the time. */
  readonly details: readonly string[];
}

/**
 * Describes a problem.
 *
 * @param now current time in epoch milliseconds on the server's clock
 * @param releases releases that replaced another one
 */
export function describeProblem(problem: Problem, now: number, releases: readonly StartedRelease[] = []): ProblemText {
  const { eventType, workflow, service, schedule, severity, lastError } = problem;
  return {
    icon: severity === 'error' ? 'triangle' : 'clock',
    tone: severity === 'error' ? 'failed' : 'stale',
    subject: eventType ?? workflow ?? schedule ?? service ?? 'Hub',
    ...(problem.kind === 'failing' && { level: failureLevel(shareOf(problem)) }),
    path: pathOf(problem),
    fact: factOf(problem, now),
    shortFact: shortFactOf(problem, now),
    details: [
      ...(lastError === undefined ? [] : [lastError.message || lastError.name].filter(Boolean)),
      ...releaseOf(problem, releases),
      ...timeOf(problem, now),
    ],
  };
}

function pathOf({ eventType, workflow, schedule }: Problem): string {
  if (eventType !== undefined) return viewPath('events', eventType);
  if (workflow !== undefined) return viewPath('workflows', workflow);
  return schedule === undefined ? viewPath('processes') : viewPath('schedules', schedule);
}

/** Describes failures of an event type without their error: how many failed, since when and when last. */
export function failureText(problem: Problem, now: number, releases: readonly StartedRelease[] = []): string {
  return [factOf(problem, now), ...releaseOf(problem, releases), ...timeOf(problem, now)].join(' · ');
}

/** Longest time after a release at which a problem that began is brought into connection with it. */
const RELEASE_MS = 30 * 60_000;

/** Returns the release that started shortly before a problem began, in words. */
function releaseOf({ kind, since }: Problem, releases: readonly StartedRelease[]): string[] {
  if (since === undefined) return [];
  const isFailing = kind === 'failing';
  // The time of a problem is that of a minute of counts.
  const nearMs = isFailing ? NEAR_MS : MINUTE_MS;
  const before = releases.filter(({ at }) => at <= since + nearMs && since - at <= RELEASE_MS);
  return before.slice(-1).map(({ at, label }) => {
    const release = label.replace(' · ', ' of ');
    return since - at < nearMs
      ? `${isFailing ? 'more ' : ''}since ${release}`
      : `began ${formatAge(since - at)} after ${release}`;
  });
}

const MINUTE_MS = 60_000;
/** Time around a release in which failures that began are attributed to it: at a low rate, their beginning is not exact. */
const NEAR_MS = 3 * MINUTE_MS;

function factOf(problem: Problem, now: number): string {
  const {
    kind,
    failed = 0,
    ended = 0,
    pending = 0,
    count = 0,
    active = 0,
    service,
    since,
    version,
    workflow,
  } = problem;
  const runs = workflow === undefined ? '' : ' ended runs';
  switch (kind) {
    case 'failing':
      return `${formatCount(failed)} of ${formatCount(ended)}${runs} failed in 5 min (${formatPercent(shareOf(problem))})`;
    case 'backlog':
      return `${formatCount(pending)} pending and growing`;
    case 'oldest-pending':
      return since === undefined ? 'an event waits' : `the oldest event waits for ${formatAge(now - since)}`;
    case 'no-process':
      return `no process${service === undefined ? '' : ` of ${service}`}, ${formatCount(pending)} pending`;
    case 'lost-process':
      return `${lostText(count)}${active > 0 ? `, ${counted(active, 'running event')} released` : ''}`;
    case 'dead-letters':
      return counted(count, 'open dead letter');
    case 'overdue-schedule':
      return 'the schedule is overdue';
    case 'approval-waiting':
      return counted(count, 'approval waits', 'approvals wait');
    case 'awaiting-version':
      return `${counted(count, 'run waits', 'runs wait')} for ${version === undefined ? 'a higher version' : `version ${version}`}`;
    // A newer server may report other kinds.
    default:
      return String(kind).replaceAll('-', ' ');
  }
}

function lostText(count: number): string {
  return `${counted(count, 'process', 'processes')} lost`;
}

function shareOf({ failed = 0, ended = 0 }: Problem): number | null {
  return ended === 0 ? null : failed / ended;
}

function shortFactOf(problem: Problem, now: number): string {
  const { kind, pending = 0, count = 0, since } = problem;
  if (kind === 'failing') return `${formatPercent(shareOf(problem))} failed in 5 min`;
  if (kind === 'lost-process') return lostText(count);
  if (kind === 'backlog') return `${formatCount(pending)} pending`;
  if (kind === 'no-process') return 'no process';
  if (kind === 'oldest-pending' && since !== undefined) return `waits ${formatAge(now - since)}`;
  return factOf(problem, now);
}

function timeOf({ kind, since, lastAt }: Problem, now: number): string[] {
  if (kind === 'oldest-pending') return [];
  const span = since === undefined ? '' : `for ${formatAge(now - since)}`;
  if (lastAt === undefined) return span === '' ? [] : [span];
  const last = formatAgo(now - lastAt);
  // Of a problem that has just begun, the time of the last failure says enough.
  return since === undefined || now - since < 2 * MINUTE_MS ? [last] : [`${span}, last ${last}`];
}

/** Describes a pause: its subject, and who paused it, since when and why. */
export function describePause(
  { target, by, reason, since }: Pause,
  now: number,
): Pick<ProblemText, 'subject' | 'path'> & { readonly text: string } {
  const [kind = '', subject = ''] = Object.entries(target)[0] ?? [];
  const views: Readonly<Record<string, string>> = {
    type: viewPath('events', subject),
    workflow: viewPath('workflows', subject),
    schedule: viewPath('schedules', subject),
  };
  return {
    subject: kind === 'service' ? `service ${subject}` : subject,
    path: views[kind] ?? viewPath('processes'),
    text: `paused by ${by} ${formatAgo(now - since)}: ${reason}`,
  };
}

/** Time for which the order of problems stays. */
export const REORDER_MS = 10_000;

/** Returns the identity of a problem, which remains while its numbers change. */
export function problemKey({ kind, eventType, workflow, service, schedule }: Problem): string {
  return JSON.stringify([kind, eventType, workflow, service, schedule]);
}

/**
 * Returns problems in the order in which they are shown: those that are still there keep their place and their error, solved
 * ones leave, and new ones come last.
 */
export function holdProblems(shown: readonly Problem[], fresh: readonly Problem[]): readonly Problem[] {
  const byKey = new Map(fresh.map((problem) => [problemKey(problem), problem]));
  const held = shown.flatMap((problem) => {
    const key = problemKey(problem);
    const now = byKey.get(key);
    byKey.delete(key);
    return now === undefined ? [] : { ...now, ...(problem.lastError && { lastError: problem.lastError }) };
  });
  return [...held, ...byKey.values()];
}
