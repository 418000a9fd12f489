import { type ServiceTypeCounts, sumCounts } from '../../statistics/sum-counts.js';
import type { TypeCounts } from '../../transport.js';
import { serviceOf } from '../names.js';
import { activeJobs } from '../scripts/active-jobs.js';
import { delayedJobs } from '../scripts/delayed-jobs.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { oldestPending } from '../scripts/oldest-pending.js';
import { prelude } from '../scripts/prelude.js';
import { readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

/**
 * `readCounts()` takes a list of types and returns text: a line per type, in it the service types separated by commas,
 * each as `serviceType active delayed suspended received ...`. Redis and its client take longer for nested arrays than for this text.
 */
export const counts: LuaFragment = new LuaFragment(
  `
local function readCounts()
  local active, _, oldest = activeJobs()
  local lines = {}
  for type in string.gmatch(take(), '[^,]+') do
    local serviceTypes = {}
    for index, serviceType in ipairs(call('SMEMBERS', key('service-types', type))) do
      local stats = call('HMGET', key('stats', serviceType),
        'received', 'completed', 'failed', 'cancelled', 'retried', 'lastReceivedAt', 'lastFailedAt', 'deduplicated')
      local pending = (stats[1] or 0) - (stats[2] or 0) - (stats[3] or 0)
      stats[9] = call('ZCARD', key('dead-letters', serviceType))
      stats[10] = pending > 0 and oldestPending(serviceType, oldest[serviceType])
      for field = 1, 10 do stats[field] = stats[field] or '' end
      serviceTypes[index] = table.concat({ serviceType, active[serviceType] or 0, delayedJobs(serviceType),
        call('SCARD', key('suspended', serviceType)), unpack(stats) }, ' ')
    end
    lines[#lines + 1] = table.concat(serviceTypes, ',') .. '\\n'
  end
  return table.concat(lines)
end
`,
  [prelude, activeJobs, delayedJobs, oldestPending],
);

export const countsScript: Script = new Script({
  purpose: 'Reads the counts of many types.',
  argv: 'types, separated by commas',
  reply: 'text, as readCounts returns it',
  includes: [prelude, counts],
  lua: `
return readCounts()
`,
});

/** Returns the reply of `readCounts`. */
export function readCounts(reply: unknown): TypeCounts[] {
  const lines = readString(reply).split('\n').slice(0, -1);
  return lines.map((line) => {
    const shares = line === '' ? [] : line.split(',').map(readServiceType);
    return {
      total: sumCounts(shares.map((share) => share.counts)),
      services: shares.map((share) => ({ service: share.service, counts: sumCounts([share.counts]) })),
    };
  });
}

function readServiceType(text: string): { readonly service: string; readonly counts: ServiceTypeCounts } {
  const [serviceType, active, delayed, suspended, ...stats] = text.split(' ');
  const [received, completed, failed, cancelled, retried, ...rest] = stats;
  const [lastReceivedAt, lastFailedAt, deduplicated, deadLetters, oldestPendingAt] = rest;
  return {
    service: serviceOf(readString(serviceType)),
    counts: {
      active: readNumber(active),
      delayed: readNumber(delayed),
      suspended: readNumber(suspended),
      cancelled: readNumber(cancelled),
      received: readNumber(received),
      completed: readNumber(completed),
      failed: readNumber(failed),
      retried: readNumber(retried),
      deduplicated: readNumber(deduplicated),
      deadLetters: readNumber(deadLetters),
      oldestPendingAt: oldestPendingAt ? readNumber(oldestPendingAt) : undefined,
      lastReceivedAt: lastReceivedAt ? readNumber(lastReceivedAt) : undefined,
      lastFailedAt: lastFailedAt ? readNumber(lastFailedAt) : undefined,
    },
  };
}
