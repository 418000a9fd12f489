import { type ServiceTypeCounts, sumCounts } from '../../statistics/sum-counts.js';
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
import { LastRead } from './last-read.js';

/**
 * `readCounts()` takes a list of types and returns text: a line per type, in it the service types separated by commas,
 * each as words. Redis and its client take longer for nested arrays than for this text. Its second result has the
 * service types with failures by type.
 *
 * Most types have neither failures nor events that are pending. They have few words, and none of their other keys is
 * looked at: a look at a key costs a thousand types a millisecond each.
 */
export const counts: LuaFragment = new LuaFragment(
  `
local function readShare(serviceType, stats, active, oldest, failing)
  local received, completed, failed = stats[1], stats[2], stats[3]
  if received == completed and not failed then
    return serviceType .. ' ' .. (active or 0) .. ' ' .. (received or 0) .. ' ' .. (stats[6] or '') .. ' '
      .. (stats[5] or '') .. ' ' .. (stats[8] or '')
  end
  local hasApprovals = stats[9]
  stats[9] = false
  local isPending = (received or 0) - (completed or 0) - (failed or 0) > 0
  if (failed or 0) - (stats[4] or 0) > 0 then
    failing[#failing + 1] = serviceType
    stats[9] = countDeadLetters(serviceType)
  end
  stats[10] = isPending and oldestPending(serviceType, oldest)
  stats[11] = isPending and hasApprovals and call('ZCARD', key('approvals', serviceType))
  for field = 1, 11 do stats[field] = stats[field] or '' end
  return table.concat({ serviceType, active or 0,
    isPending and delayedJobs(serviceType) or 0,
    isPending and call('HLEN', key('suspended', serviceType)) or 0, unpack(stats) }, ' ')
end

local function readCounts()
  local active, _, oldest = activeJobs()
  local lines, allFailing = {}, {}
  local types, all = serviceTypesOfAll(take())
  for place, type in ipairs(types) do
    local shares, failing = {}, {}
    for index, serviceType in ipairs(all[place]) do
      local stats = call('HMGET', key('stats', serviceType),
        'received', 'completed', 'failed', 'cancelled', 'retried', 'lastReceivedAt', 'lastFailedAt', 'deduplicated', 'hasApprovals')
      shares[index] = readShare(serviceType, stats, active[serviceType], oldest[serviceType], failing)
    end
    if #failing > 0 then allFailing[type] = failing end
    lines[place] = shares[2] and table.concat(shares, ',') or shares[1] or ''
  end
  return table.concat(lines, '\\n'), allFailing
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

// Words of a service type without failures and without pending events.
const wordsOfQuiet = 6;

/**
 * Returns the reply of `readCounts`.
 *
 * @param known results of the last read
 */
export function readCounts(
  types: readonly string[],
  reply: unknown,
  known: LastRead<TypeCounts> = new LastRead(),
): TypeCounts[] {
  const text = readString(reply);
  return types.length === 0 ? [] : known.read(text.split('\n'), readLine);
}

function readLine(line: string): TypeCounts {
  const services = line === '' ? [] : line.split(',').map(readServiceType);
  const [first] = services;
  const isOnly = first !== undefined && services.length === 1;
  return { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
}

function readServiceType(text: string): TypeCounts['services'][number] {
  const words = text.split(' ');
  const counts = words.length === wordsOfQuiet ? readQuiet(words) : readAll(words);
  return { service: serviceOf(readString(words[0])), counts: sumCounts([counts]) };
}

function readQuiet([, active, received, lastReceivedAt, retried, deduplicated]: readonly string[]): ServiceTypeCounts {
  return {
    active: readNumber(active),
    delayed: 0,
    suspended: 0,
    cancelled: 0,
    received: readNumber(received),
    completed: readNumber(received),
    failed: 0,
    retried: readNumber(retried),
    deduplicated: readNumber(deduplicated),
    deadLetters: 0,
    lastReceivedAt: lastReceivedAt ? readNumber(lastReceivedAt) : undefined,
  };
}

function readAll([
  ,
  active,
  delayed,
  suspended,
  received,
  completed,
  failed,
  ...words
]: readonly string[]): ServiceTypeCounts {
  const [cancelled, retried, lastReceivedAt, lastFailedAt, deduplicated, ...rest] = words;
  const [deadLetters, oldestPendingAt, approvals] = rest;
  return {
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
  };
}
