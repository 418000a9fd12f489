import { maxBatchLength } from '../scripts/limits.js';
import { prelude } from '../scripts/prelude.js';
import { queueMoves } from '../jobs/queue-moves.js';
import { Script } from '../scripts/script.js';
import { takeTurns } from './take-turns.js';

/**
 * Takes the place of `moveToActive` of BullMQ: it takes events from the gates, several per call, and leaves the queue as
 * the other scripts of BullMQ expect it.
 */
export const fetchJobsScript: Script = new Script({
  name: 'fetchJobs',
  access: 'works',
  purpose: `Leases jobs of a worker queue, one per token: first those that were lost or released, then events from the gates. Stops after ${maxBatchLength} characters.`,
  argv: 'queue name, lifetime of the leases in ms, token...',
  reply:
    'jobs, and milliseconds until the next due time or nothing; 0 if it stopped early. A job is its id, type, data, time of acceptance, number of starts, of ended attempts and of losses',
  includes: [prelude, queueMoves, takeTurns],
  lua: `
local name, lifetimeMs = take(), take()
local queue, count = queueKey(name), #ARGV - position
local jobs, length = {}, 0

local function hasRoom()
  return #jobs < count and length <= ${maxBatchLength}
end

local function readJob(id)
  local fields = call('HMGET', queue .. id, 'name', 'data', 'timestamp', 'ats', 'atm', 'stc')
  return (fields[1] or fields[2] or fields[3]) and fields
end

-- An event that another queue accepted moves into this one.
local function moveJob(id, serviceType)
  local from = jobQueue(serviceType, id)
  if not from then return nil end
  call('RENAME', from .. id, queue .. id)
  local run = key('run', serviceType, id)
  if call('EXISTS', run) == 1 then call('HSET', run, 'queue', queue) end
  return readJob(id)
end

local function start(id, serviceType)
  if not hasRoom() then return nil end
  local fields = readJob(id) or serviceType and moveJob(id, serviceType)
  if not fields then return false end
  -- Something else may have changed the fields.
  local type, data = fields[1] or '', fields[2] or ''
  local acceptedAt, starts = tonumber(fields[3]) or now, (tonumber(fields[4]) or 0) + 1
  call('SET', queue .. id .. ':lock', take(), 'PX', lifetimeMs)
  call('HSET', queue .. id, 'processedOn', now, 'ats', starts)
  jobs[#jobs + 1] = { id, type, data, acceptedAt, starts, tonumber(fields[5]) or 0, tonumber(fields[6]) or 0 }
  length = length + #data
  return true
end

local dueAt, isDueStale = moveDue(name), false
local mayWait, hasTurns = true, true
while mayWait and hasRoom() do
  local id = call('RPOPLPUSH', queue .. 'wait', queue .. 'active')
  mayWait = id and true or false
  if id and not start(id) then call('LREM', queue .. 'active', 1, id) end
end
while hasTurns and hasRoom() do
  local mayChangeDue
  hasTurns, mayChangeDue = takeTurn(name, count - #jobs, start)
  isDueStale = isDueStale or mayChangeDue
end

if isDueStale then dueAt = nextDueTime(name) end
-- Another worker may have to take what is left, or to learn the due time.
if #jobs > 0 and (dueAt or mayWait or hasTurns) then wakeWorker(queue) end
local stoppedEarly = #jobs < count and not hasRoom()
return { jobs, stoppedEarly and 0 or dueAt and math.ceil(math.max(dueAt - now, 0)) or false }
`,
});
