import type { Schedule } from '../api/decoding/decode-introspection.js';
import { formatDuration } from '../format/duration.js';

/** Returns the times at which a schedule is due: "0 8 * * 1 in Europe/Berlin" or "every 5 min". */
export function scheduleText({ cron, timeZone = 'UTC', everyMs }: Schedule): string {
  return everyMs === undefined ? `${cron} in ${timeZone}` : `every ${formatDuration(everyMs)}`;
}
