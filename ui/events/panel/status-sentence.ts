import type { EventOverview } from '../../../server/dashboard/protocol.js';
import { formatCount } from '../../format/count.js';
import { formatAge, formatAgo } from '../../format/duration.js';
import { formatPercent } from '../../format/ratio.js';

/** Returns the state of an event type as a sentence, from the last 5 minutes. */
export function statusSentence({ metrics, recent, lastFailure }: EventOverview, serverNow: number): string {
  const { completed, failed, cancelled, received } = recent.last5Min;
  const failures = failed - cancelled;
  const ended = completed + failures;
  if (failures > 0) {
    const at = metrics.lastFailedAt ?? lastFailure?.at;
    const last = at === undefined ? '' : `, last ${formatAgo(serverNow - at)}`;
    return `${formatCount(failures)} of ${formatCount(ended)} failed in 5 min (${formatPercent(failures / ended)})${last}`;
  }
  if (metrics.received === 0) return 'No event was received since the start';
  const pending =
    metrics.pending === 0 || metrics.oldestPendingAt === undefined
      ? ''
      : `, ${formatCount(metrics.pending)} pending, the oldest for ${formatAge(serverNow - metrics.oldestPendingAt)}`;
  // Suspended ones are pending, and have no age.
  const open = metrics.suspended > 0 ? `${pending}, ${formatCount(metrics.suspended)} suspended` : pending;
  if (received + completed > 0) return `Nothing failed in 5 min, ${formatCount(completed)} completed${open}`;
  const last =
    metrics.lastReceivedAt === undefined ? '' : `, the last one ${formatAgo(serverNow - metrics.lastReceivedAt)}`;
  return `No event in 5 min${last}${open}`;
}
