import { queueMoves } from '../jobs/queue-moves.js';
import { attempts } from '../lookup/attempts.js';
import { maxBatchLength } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { takeTurns } from './take-turns.js';

/**
 * `leaseJobs(name, lifetimeMs)` takes the place of `moveToActive` of BullMQ: it takes events from the gates, several per
 * call, and leaves the queue as the other scripts of BullMQ expect it. It leases jobs of a worker queue, one per token of
 * the remaining arguments: first those that were lost or released, then events from the gates. It stops after
 * `maxBatchLength` characters.
 *
 * It returns jobs, and milliseconds until the next due time or nothing; 0 if it stopped early. A job is its id, type,
 * data, time of acceptance, number of starts, of ended attempts and of losses.
 */
export const leaseJobs: LuaFragment = new LuaFragment(
  `
local leaseJobs
do
  local queue, count, lifetimeMs, jobs, length

  local function hasRoom()
    return #jobs < count and length <= ${maxBatchLength}
  end

  local function readJob(job)
    local fields = call('HMGET', job, 'name', 'data', 'timestamp', 'ats', 'atm', 'stc', 'leased')
    return (fields[1] or fields[2] or fields[3]) and fields
  end

  -- An event that another queue accepted moves into this one.
  local function moveJob(id, serviceType)
    local from = jobQueue(serviceType, id)
    if not from then return nil end
    call('RENAME', from .. id, queue .. id)
    local run = key('run', serviceType, id)
    if call('EXISTS', run) == 1 then call('HSET', run, 'queue', queue) end
    return readJob(queue .. id)
  end

  local function start(id, serviceType)
    if not hasRoom() then return nil end
    local job = queue .. id
    local fields = readJob(job) or serviceType and moveJob(id, serviceType)
    if not fields then return false end
    -- Something else may have changed the fields.
    local type, data, starts = fields[1] or '', fields[2] or '', '1'
    if fields[4] then starts = string.format('%d', (tonumber(fields[4]) or 0) + 1) end
    call('SET', job .. ':lock', take(), 'PX', lifetimeMs)
    if isInterrupted(fields[7], fields[4]) then noteInterruption(job) end
    call('HSET', job, 'processedOn', nowText, 'ats', starts, 'leased', starts)
    jobs[#jobs + 1] = { id, type, data, string.match(fields[3] or '', '^%d+$') or nowText, starts, tonumber(fields[5]) or 0,
      tonumber(fields[6]) or 0 }
    length = length + #data
    return true
  end

  function leaseJobs(name, ms)
    queue, count, lifetimeMs, jobs, length = queueKey(name), #arguments - position, ms, {}, 0
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
  end
end
`,
  [attempts, prelude, queueMoves, takeTurns],
);
