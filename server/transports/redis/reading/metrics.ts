import type { EventMetrics } from '../../statistics/stats.js';
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
  reply: 'the time, the text of readCounts, the open minute and the history',
  includes: [prelude, activity, counts],
  lua: `
return { now, readCounts(), readPeriods(ARGV[1]) }
`,
});

/** Returns the reply of {@link metricsScript}. */
export function readMetrics(type: string, reply: unknown): EventMetrics {
  const [nowValue, typeCounts, periods] = readArray(reply);
  const [found] = readCounts([type], typeCounts);
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
