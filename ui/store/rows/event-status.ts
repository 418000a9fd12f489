import type { EventColumns, Problem } from '../../../server/dashboard/protocol.js';
import { countAt } from './overview-at.js';

/** Status of an event type. */
export type EventStatus = 'failing' | 'attention' | 'active' | 'idle' | 'never';

/** Severity of failures: below 1 %, below 10 %, or more. */
export type FailureLevel = 'low' | 'medium' | 'high';

/** A type is active for this time after an event was received. */
export const ACTIVE_MS = 60_000;

/** Problems of the hub that decide the status of event types. */
export interface ProblemTypes {
  /** Types that the server lists as failing. */
  readonly failing: ReadonlySet<string>;
  /** Types with any other problem. */
  readonly attention: ReadonlySet<string>;
}

/** Sorts the problems of event types by their effect on the status. */
export function problemTypes(problems: readonly Problem[]): ProblemTypes {
  const failing = new Set<string>();
  const attention = new Set<string>();
  for (const { kind, eventType } of problems) {
    if (eventType !== undefined) (kind === 'failing' ? failing : attention).add(eventType);
  }
  return { failing, attention };
}

/**
 * Returns the status of a type. The first rule that applies decides:
 *
 * 1. failing: an event failed in the last 5 minutes, unless all dead letters were replayed since
 * 2. attention: there are open dead letters or another problem, such as a backlog
 * 3. active: a handler runs, or an event was received in the last minute
 * 4. never: no event was ever received
 * 5. idle: none of the above
 *
 * @param index index of the type in the columns
 * @param now current time in epoch milliseconds on the server's clock
 */
export function eventStatus(columns: EventColumns, index: number, problems: ProblemTypes, now: number): EventStatus {
  const type = columns.types[index] ?? '';
  const failed = (columns.last5Min.failed?.[index] ?? 0) - (columns.last5Min.cancelled?.[index] ?? 0);
  const deadLetters = countAt(columns, index, 'deadLetters');
  // The server lists at most 50 problems, so the counts decide too.
  if (problems.failing.has(type) || (failed > 0 && deadLetters > 0)) return 'failing';
  if (deadLetters > 0 || problems.attention.has(type)) return 'attention';
  const lastReceivedAt = columns.metrics.lastReceivedAt?.[index] ?? null;
  if (countAt(columns, index, 'active') > 0) return 'active';
  if (lastReceivedAt !== null && now - lastReceivedAt < ACTIVE_MS) return 'active';
  return countAt(columns, index, 'received') === 0 ? 'never' : 'idle';
}

/** Returns the severity of a failure rate; `medium` if the rate is unknown. */
export function failureLevel(ratio: number | null): FailureLevel {
  if (ratio === null) return 'medium';
  return ratio < 0.01 ? 'low' : ratio < 0.1 ? 'medium' : 'high';
}
