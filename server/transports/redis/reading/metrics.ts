import { DurationSketch } from '../../duration-sketch.js';
import { keptMinutes, minuteMs } from '../../limits.js';
import type { EventMetrics, MinuteBucket } from '../../stats.js';
import { type ServiceTypeCounts, sumCounts } from '../../sum-counts.js';
import { activeJobs } from '../scripts/active-jobs.js';
import { delayedJobs } from '../scripts/delayed-jobs.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readNumber, readOptional } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

export const metricsScript: Script = new Script({
  purpose: 'Reads all counters of a type.',
  argv: 'type',
  reply:
    'the time, then for each service type: numbers of active, delayed and suspended jobs, counters, counters per minute',
  includes: [prelude, activeJobs, delayedJobs],
  lua: `
local active = activeJobs()
local reply = { now }
for _, serviceType in ipairs(call('SMEMBERS', key('service-types', take()))) do
  reply[#reply + 1] = {
    active[serviceType] or 0,
    delayedJobs(serviceType),
    call('SCARD', key('suspended', serviceType)),
    call('HGETALL', key('stats', serviceType)),
    call('HGETALL', key('minutes', serviceType)),
  }
end
return reply
`,
});

/** Returns the reply of {@link metricsScript}, summed over the services. */
export function readMetrics(type: string, reply: unknown): EventMetrics {
  const [now, ...rows] = readArray(reply);
  const durations = new DurationSketch();
  const shares: ServiceTypeCounts[] = [];
  const minutes = new Map<string, number>();
  let deduplicated = 0;
  for (const row of rows) {
    const [active, delayed, suspended, stats, minuteCounters] = readArray(row);
    const fields = readHash(stats);
    const count = (field: string): number => Number(fields.get(field) ?? 0);
    const at = (field: string): number | undefined => readOptional(fields.get(field), readNumber);
    shares.push({
      received: count('received'),
      completed: count('completed'),
      failed: count('failed'),
      active: readNumber(active),
      delayed: readNumber(delayed),
      suspended: readNumber(suspended),
      cancelled: count('cancelled'),
      retried: count('retried'),
      lastReceivedAt: at('lastReceivedAt'),
      lastFailedAt: at('lastFailedAt'),
    });
    deduplicated += count('deduplicated');
    for (const [field, times] of fields) {
      const bucket = /^d(-?\d+)$/.exec(field)?.[1];
      if (bucket !== undefined) durations.addBucket(Number(bucket), Number(times), count('longest'));
    }
    for (const [field, times] of readHash(minuteCounters)) {
      minutes.set(field, (minutes.get(field) ?? 0) + Number(times));
    }
  }
  const durationMs = durations.durations();
  return { type, ...sumCounts(shares), deduplicated, durationMs, perMinute: lastHour(minutes, readNumber(now)) };
}

function lastHour(minutes: ReadonlyMap<string, number>, now: number): MinuteBucket[] {
  const current = Math.floor(now / minuteMs);
  return Array.from({ length: keptMinutes }, (_, index) => {
    const minute = current - keptMinutes + 1 + index;
    const count = (counter: string): number => minutes.get(`${minute}${counter}`) ?? 0;
    return { at: minute * minuteMs, received: count('r'), completed: count('c'), failed: count('f') };
  });
}
