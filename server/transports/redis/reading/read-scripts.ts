import { activity, library } from '../scripts/prelude.js';
import { membersReading } from '../membership/membership-scripts.js';
import { Script } from '../scripts/script.js';

// A thousand types are answered as one text: as arrays of arrays they took Redis and its client longer than to be read.
const countsReading = `
local function readCounts()
  local active = activeJobs()
  local lines = {}
  for type in string.gmatch(take(), '[^,]+') do
    local units = {}
    for at, unit in ipairs(call('SMEMBERS', prefix .. ':units:' .. type)) do
      local counts = call('HMGET', prefix .. ':stats:' .. unit,
        'received', 'completed', 'failed', 'retried', 'lastReceivedAt', 'lastFailedAt')
      for field = 1, #counts do counts[field] = counts[field] or '' end
      units[at] = unit .. ' ' .. (active[unit] or 0) .. ' ' .. table.concat(counts, ' ')
    end
    lines[#lines + 1] = table.concat(units, ',') .. '\\n'
  end
  return table.concat(lines)
end
`;

/** Counts of many types: for each a line with its units, as `unit active received ...`, with commas in between. */
export const countsScript: Script = new Script(`${library}${activity}${countsReading}
return readCounts()
`);

/** One type in depth: the time, then for each unit its activity, counters and minutes. */
export const metricsScript: Script = new Script(`${library}${activity}
local active = activeJobs()
local answer = { now }
for _, unit in ipairs(call('SMEMBERS', prefix .. ':units:' .. take())) do
  answer[#answer + 1] = { active[unit] or 0, call('HGETALL', prefix .. ':stats:' .. unit), call('HGETALL', prefix .. ':minutes:' .. unit) }
end
return answer
`);

/** The latest failures of each unit of a type. */
export const failuresScript: Script = new Script(`${library}
local answer = {}
for index, unit in ipairs(call('SMEMBERS', prefix .. ':units:' .. take())) do
  answer[index] = call('LRANGE', prefix .. ':failures:' .. unit, 0, -1)
end
return answer
`);

/** A string that changes with what the other scripts here answer, for one type or for all. */
export const revisionScript: Script = new Script(`${library}${activity}
local active, jobs = activeJobs()
local type = ARGV[1]
if not type then return (call('GET', prefix .. ':revision') or '0') .. '.' .. string.sub(redis.sha1hex(jobs), 1, 12) end
local changes, running = 0, 0
for _, unit in ipairs(call('SMEMBERS', prefix .. ':units:' .. type)) do
  changes = changes + call('HGET', prefix .. ':stats:' .. unit, 'revision')
  running = running + (active[unit] or 0)
end
return changes .. '.' .. running .. '.' .. math.floor(now / 60000)
`);

const runReading = `
local function readRun(unit, id)
  local key = prefix .. ':run:' .. unit .. ':' .. id
  local run = call('HMGET', key, 'data', 'acceptedAt', 'attempt', 'status', 'endedAt', 'value', 'lane')
  if not run[1] then return false end
  if not run[4] and call('LPOS', run[7] .. 'active', id) then run[4] = 'active' end
  run[7] = call('HGETALL', key .. ':checkpoints')
  return { unit, id, run }
end
`;

/** One run, or nothing. */
export const runScript: Script = new Script(`${library}${runReading}
return readRun(take(), take())
`);

const runsReading = `
local function readRuns()
  local limit = takeNumber()
  local answer = {}
  for type in string.gmatch(take(), '[^,]+') do
    local runs = {}
    for _, unit in ipairs(call('SMEMBERS', prefix .. ':units:' .. type)) do
      for _, id in ipairs(call('ZREVRANGE', prefix .. ':runs:' .. unit, 0, limit - 1)) do
        runs[#runs + 1] = readRun(unit, id)
      end
    end
    answer[#answer + 1] = runs
  end
  return answer
end
`;

/** What members tell of themselves, the counts of many types, and the latest runs of some, of all their units. */
export const overviewScript: Script = new Script(
  `${library}${activity}${membersReading}${countsReading}${runReading}${runsReading}
return { readMembers(), readCounts(), readRuns() }
`,
);
