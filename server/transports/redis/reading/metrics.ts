import type { EventMetrics } from '../../statistics/stats.js';
import { countRecords } from '../counting/count-records.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readNumber, unexpected } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { activity, readPeriods } from './activity.js';
import { counts, readCounts } from './counts.js';

export const metricsScript: Script = new Script({
  name: 'metrics',
  access: 'reads',
  purpose: 'Reads the counts and the history of a type.',
  argv: 'type',
  reply: 'the time, the lists of readCounts, the last minutes and the history',
  includes: [prelude, activity, countRecords, counts],
  lua: `
local sums = unfoldedSums()
return { now, (readCounts(sums)), readPeriods(ARGV[1], sums) }
`,
});

/** Returns the reply of {@link metricsScript}. */
export function readMetrics(type: string, reply: unknown): EventMetrics {
  const [nowValue, typeCounts, periods] = readArray(reply);
  const [found] = readCounts(typeCounts);
  if (found === undefined) throw unexpected('the counts of the type', typeCounts);
  const stored = readPeriods(readNumber(nowValue), periods);
  return {
    type,
    ...found.total,
    recent: stored.recent(),
    waitMs: stored.waits(),
    durationMs: stored.durations(),
    histories: stored.histories(),
  };
}
