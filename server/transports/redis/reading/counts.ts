import { sumCounts } from '../../statistics/sum-counts.js';
import type { TypeCounts } from '../../transport.js';
import { deadLetters } from '../dead-letters/dead-letter-fragments.js';
import { serviceOf } from '../names.js';
import { activeJobs } from '../scripts/active-jobs.js';
import { delayedJobs } from '../scripts/delayed-jobs.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { oldestPending } from '../scripts/oldest-pending.js';
import { prelude } from '../scripts/prelude.js';
import { readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { serviceTypes } from '../scripts/service-types.js';

/**
 * `readCounts()` takes a list of types and returns text: a line per type, in it the service types separated by commas,
 * each as `serviceType active delayed suspended received ...`. Redis and its client take longer for nested arrays than for this text.
 * Its second result has the service types with failures by type.
 *
 * A look at a key costs a thousand types a millisecond each, so that no key is looked at which the counters say is empty.
 */
export const counts: LuaFragment = new LuaFragment(
  `
local function readCounts()
  local active, _, oldest = activeJobs()
  local lines, failing = {}, {}
  local types, all = serviceTypesOfAll(take())
  for place, type in ipairs(types) do
    local shares = {}
    for index, serviceType in ipairs(all[place]) do
      local stats = call('HMGET', key('stats', serviceType),
        'received', 'completed', 'failed', 'cancelled', 'retried', 'lastReceivedAt', 'lastFailedAt', 'deduplicated', 'hasApprovals')
      local hasApprovals = stats[9]
      stats[9] = false
      local isPending = (stats[1] or 0) - (stats[2] or 0) - (stats[3] or 0) > 0
      if (stats[3] or 0) - (stats[4] or 0) > 0 then
        failing[type] = failing[type] or {}
        table.insert(failing[type], serviceType)
        stats[9] = countDeadLetters(serviceType)
      end
      stats[10] = isPending and oldestPending(serviceType, oldest[serviceType])
      stats[11] = isPending and hasApprovals and call('ZCARD', key('approvals', serviceType))
      for field = 1, 11 do stats[field] = stats[field] or '' end
      shares[index] = table.concat({ serviceType, active[serviceType] or 0,
        isPending and delayedJobs(serviceType) or 0,
        isPending and call('HLEN', key('suspended', serviceType)) or 0, unpack(stats) }, ' ')
    end
    lines[#lines + 1] = table.concat(shares, ',') .. '\\n'
  end
  return table.concat(lines), failing
end
`,
  [prelude, activeJobs, deadLetters, delayedJobs, oldestPending, serviceTypes],
);

export const countsScript: Script = new Script({
  name: 'counts',
  access: 'reads',
  purpose: 'Reads the counts of many types.',
  argv: 'types, separated by commas',
  reply: 'text, as readCounts returns it',
  includes: [prelude, counts],
  lua: `
return (readCounts())
`,
});

/** Returns the reply of `readCounts`. */
export function readCounts(reply: unknown): TypeCounts[] {
  const lines = readString(reply).split('\n').slice(0, -1);
  return lines.map((line) => {
    const services = line === '' ? [] : line.split(',').map(readServiceType);
    const [first] = services;
    const isOnly = first !== undefined && services.length === 1;
    return { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
  });
}

function readServiceType(text: string): TypeCounts['services'][number] {
  const [serviceType, active, delayed, suspended, received, completed, failed, cancelled, retried, ...rest] =
    text.split(' ');
  const [lastReceivedAt, lastFailedAt, deduplicated, deadLetters, oldestPendingAt, approvals] = rest;
  return {
    service: serviceOf(readString(serviceType)),
    counts: sumCounts([
      {
        active: readNumber(active),
        delayed: readNumber(delayed),
        suspended: readNumber(suspended),
        approvals: approvals ? readNumber(approvals) : undefined,
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
    ]),
  };
}
