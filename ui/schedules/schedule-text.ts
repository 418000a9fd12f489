import type { Schedule } from '../api/decoding/decode-introspection.js';
import { formatDuration } from '../format/duration.js';
import { cronWords } from './cron-words.js';

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

/** Returns true for a cron expression that has no words, so that its next due times say more. */
export function hasRareTimes({ cron }: Schedule): boolean {
  return cron !== undefined && cronWords(cron) === undefined;
}

/** Returns the times at which a schedule is due: "every day at 07:30, Europe/Berlin", "every 5 minutes". */
export function scheduleText({ cron, timeZone = 'UTC', everyMs }: Schedule): string {
  if (everyMs === undefined) return `${cronWords(cron ?? '') ?? cron}, ${timeZone}`;
  const [unitMs, unit] = UNITS.find(([ms]) => everyMs % ms === 0) ?? [];
  if (unitMs === undefined) return `every ${formatDuration(everyMs)}`;
  return everyMs === unitMs ? `every ${unit}` : `every ${everyMs / unitMs} ${unit}s`;
}
