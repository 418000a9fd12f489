import { minuteMs } from '../../limits.js';
import { type ServiceTypeCounts, sumCounts } from '../../statistics/stats.js';
import type { TypeCounts } from '../../transport.js';
import { prelude } from '../connection/keys.js';
import { readArray, readString } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { deadLetters } from '../jobs/dead-letter-fragments.js';
import { activeJobs, delayedJobs, oldestPending } from '../jobs/queue-jobs.js';
import { serviceOf } from '../names.js';
import { countRecords, serviceTypes } from './count-records.js';
import { readNumbers } from './stored-lines.js';

/**
 * `readCounts(sums)` takes a list of types and returns three lists: the service types of each type, separated by commas,
 * the record of each of these service types in the same order, and numbers that only some service types have, as the
 * number of the service type, active, dead letters, delayed, suspended, approvals, time of the oldest pending event. Its
 * other results are the service types with failures by type, and the types. `sums` are those of `unfoldedSums`.
 *
 * Most types have neither failures nor events that are pending. None of their other keys is looked at: a look at a key
 * costs a thousand types a millisecond each. Their texts are returned as they are read: Lua takes longer to join them than
 * Redis and its client take for lists.
 */
export const counts: LuaFragment = new LuaFragment(
  `
local noCounts = '0 0 0 0 0 0 0 0 0 0'
local function readDetails(serviceType, text, active, oldest)
  local received, completed, failed, cancelled, hasApprovals = string.match(text, '^(%d+) (%d+) (%d+) (%d+) .*(%d)$')
  -- Something else may have changed it.
  if not received then return noCounts, active, 0, 0, 0, 0, 0, false end
  local isPending, hasFailed = received - completed - failed > 0, failed - cancelled > 0
  local deadLetterCount = hasFailed and countDeadLetters(serviceType) or 0
  if not isPending then return text, active, deadLetterCount, 0, 0, 0, 0, hasFailed end
  return text, active, deadLetterCount, delayedJobs(serviceType), call('HLEN', key('suspended', serviceType)),
    hasApprovals == '1' and call('ZCARD', key('approvals', serviceType)) or 0, oldestPending(serviceType, oldest) or 0, hasFailed
end

local function readCounts(sums)
  local active, _, oldest = activeJobs()
  local types = splitList(take())
  local texts, flat, typeOfPlace = readFields(key('service-types'), types), {}, {}
  for index, type in ipairs(types) do
    for _, serviceType in ipairs(texts[index] and splitList(texts[index]) or {}) do
      flat[#flat + 1] = serviceType
      typeOfPlace[#flat] = type
    end
  end
  local records, details, failing = readShares(flat, sums), {}, {}
  for place, serviceType in ipairs(flat) do
    local text, ofShare = records[place] or noCounts, active[serviceType]
    -- As many completed as received, and none failed: there are no details.
    if ofShare or not string.find(text, '^(%d+) %1 0 ') then
      local record, leased, deadLetterCount, delayed, suspended, approvals, at, hasFailed =
        readDetails(serviceType, text, ofShare or 0, oldest[serviceType])
      records[place] = record
      details[#details + 1] = string.format('%d %d %d %d %d %d %.0f', place, leased, deadLetterCount, delayed, suspended, approvals, at)
      if hasFailed then
        local type = typeOfPlace[place]
        failing[type] = failing[type] or {}
        table.insert(failing[type], serviceType)
      end
    end
  end
  return { texts, records, details }, failing, types
end
`,
  [prelude, activeJobs, countRecords, deadLetters, delayedJobs, oldestPending, serviceTypes],
);

export const countsScript: Script = new Script({
  name: 'counts',
  access: 'reads',
  purpose: 'Reads the counts of many types.',
  argv: 'types, separated by commas',
  reply: 'lists, as readCounts returns them',
  includes: [prelude, counts, countRecords],
  lua: `
return (readCounts(unfoldedSums()))
`,
});

/** Returns the reply of `readCounts`. */
export function readCounts(reply: unknown): TypeCounts[] {
  const [serviceTypes, records, details] = readArray(reply);
  const reader = new ShareReader(readArray(records), readArray(details).map(readString));
  return readArray(serviceTypes).map((value) => {
    const services = value === null || value === '' ? [] : readString(value).split(',').map(reader.read);
    const [first] = services;
    const isOnly = first !== undefined && services.length === 1;
    return { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
  });
}

const recordLength = 10;
const detailsLength = 7;
const noDetails = new Float64Array(detailsLength);

/** Reads the counts of service types, one after the other. */
class ShareReader {
  readonly #records: readonly unknown[];
  /** By the number of the service type, from 1. */
  readonly #details: ReadonlyMap<number, Float64Array>;
  readonly #services = new Map<string, string>();
  readonly #record = new Float64Array(recordLength);
  #place = 0;

  constructor(records: readonly unknown[], details: readonly string[]) {
    this.#records = records;
    this.#details = new Map(
      details.map((text) => {
        const numbers = new Float64Array(detailsLength);
        readNumbers(text, numbers);
        return [numbers[0] ?? 0, numbers];
      }),
    );
  }

  readonly read = (serviceType: string): TypeCounts['services'][number] => {
    const stored = this.#records[this.#place];
    this.#place += 1;
    readNumbers(stored === null ? '' : readString(stored), this.#record);
    return { service: this.#service(serviceType), counts: sumCounts([this.#counts(this.#place)]) };
  };

  #counts(place: number): ServiceTypeCounts {
    const record = this.#record;
    const details = this.#details.get(place) ?? noDetails;
    return {
      received: record[0] ?? 0,
      completed: record[1] ?? 0,
      failed: record[2] ?? 0,
      cancelled: record[3] ?? 0,
      retried: record[4] ?? 0,
      deduplicated: record[5] ?? 0,
      // Both have 0 for a time that is unknown.
      lastReceivedAt: record[6] || undefined,
      lastFailedAt: record[7] || undefined,
      active: details[1] ?? 0,
      deadLetters: details[2] ?? 0,
      delayed: details[3] ?? 0,
      suspended: details[4] ?? 0,
      approvals: details[5] ?? 0,
      oldestPendingAt: details[6] || undefined,
    };
  }

  #service(serviceType: string): string {
    const encoded = serviceType.slice(0, serviceType.indexOf('/'));
    let service = this.#services.get(encoded);
    if (service === undefined) {
      service = serviceOf(serviceType);
      this.#services.set(encoded, service);
    }
    return service;
  }
}

export const revisionScript: Script = new Script({
  name: 'revision',
  access: 'reads',
  purpose: 'Reads a string that changes with the replies of the other reading scripts.',
  argv: 'type; none means all types',
  reply: 'the string',
  includes: [prelude, activeJobs, countRecords, serviceTypes],
  lua: `
local active, leased = activeJobs()
local type = ARGV[1]
if not type then return (call('GET', key('revision')) or '0') .. '.' .. string.sub(redis.sha1hex(leased), 1, 12) .. '.' .. math.floor(now / ${minuteMs}) end
local changes, running = 0, 0
local ofType = serviceTypesOf(type)
local texts = readShares(ofType, unfoldedSums())
for index, serviceType in ipairs(ofType) do
  changes = changes + (string.match(texts[index] or '', ' (%d+) %d$') or 0)
  running = running + (active[serviceType] or 0)
end
return changes .. '.' .. running .. '.' .. math.floor(now / ${minuteMs})
`,
});
