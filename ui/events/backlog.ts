import {
  backlogRate,
  type EventOverview,
  type Problem,
  type WorkflowOverview,
} from '../../server/dashboard/protocol.js';
import { formatDuration } from '../format/duration.js';
import { formatCount, formatRate } from '../format/number.js';

const MINUTE_MS = 60_000;

/** Returns true for a problem of events that do not start. */
export function isQueueProblem(kind: Problem['kind']): boolean {
  return kind === 'backlog' || kind === 'oldest-pending' || kind === 'no-process';
}

/** Smallest number of waiting events of which a backlog is described. */
const MIN_WAITING = 10;

/**
 * Describes a backlog: events in and out per minute over the last 5 minutes, whether it grows or when it is empty, and why
 * it waits. `null` if fewer than 10 events wait.
 *
 * @param hubNow time at which the counts were read, in epoch milliseconds
 */
export function backlogText(
  event: Pick<EventOverview, 'metrics' | 'concurrency' | 'processes' | 'paused'> & Pick<WorkflowOverview, 'recent'>,
  hubNow: number,
): string | null {
  const { metrics, recent } = event;
  if (recent === undefined) return null;
  const { waiting, inPerMinute, outPerMinute, emptyAt } = backlogRate(metrics, recent, hubNow);
  if (waiting < MIN_WAITING) return null;
  const rates = `in ${formatRate(inPerMinute / 60)}, out ${formatRate(outPerMinute / 60)}`;
  const trend =
    emptyAt !== undefined
      ? `empty in about ${formatDuration(roundMinutes(emptyAt - hubNow))}`
      : inPerMinute > outPerMinute
        ? `grows by ${formatRate((inPerMinute - outPerMinute) / 60)}`
        : 'stays';
  return [`${formatCount(waiting)} wait`, `${rates}: ${trend}`, ...reasonOf(event)].join(' · ');
}

/** Rounds an estimate to whole minutes, of less than one to 10 seconds. */
function roundMinutes(ms: number): number {
  const step = ms < MINUTE_MS ? 10_000 : MINUTE_MS;
  return Math.max(step, Math.round(ms / step) * step);
}

/** Returns why events wait, if that is known. */
function reasonOf({
  metrics: { active },
  concurrency,
  processes,
  paused,
}: Pick<EventOverview, 'metrics' | 'concurrency' | 'processes' | 'paused'>): readonly string[] {
  if (paused !== undefined) return [`paused by ${paused.by}`];
  if (processes === 0) return ['no process handles it'];
  if (concurrency === undefined || active < concurrency) return [];
  return [concurrency === 1 ? 'its only slot is taken' : `all ${formatCount(concurrency)} slots of the type are taken`];
}
