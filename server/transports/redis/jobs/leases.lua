--- @include "../connection/prelude.lua"

-- Locks of jobs. `readLocks(jobs)` reads those of many jobs at once for `lockOf(job)`, which returns the token of a lock.
-- `endLease(queue, id)` ends a lease, and returns 1 if the job was leased; `leaveActive(queue, id)` does the same for a job
-- whose lock is deleted with it.
--
-- `leaseOf(queue, id, token, starts, serviceType)` returns a commit result, and what an outcome needs of the job: number of
-- starts, time of acceptance, failed attempts, deduplication; `clearCrashes(queue, id)` resets the crash count of a job
-- whose handler has reported; `endStart(queue, id)` does so for an attempt that has an outcome.

local locks
local function readLocks(jobs)
  if #jobs == 0 then return end
  local names = {}
  for index, job in ipairs(jobs) do names[index] = job .. ':lock' end
  local tokens = call('MGET', unpack(names))
  for index, job in ipairs(jobs) do locks[job] = tokens[index] end
end

local function lockOf(job)
  local token = locks[job]
  if token == nil then return call('GET', job .. ':lock') end
  return token
end

-- An id that stays in "stalled" has no effect: BullMQ looks for it among the active jobs.
local function leaveActive(queue, id)
  locks[queue .. id] = false
  return call('LREM', queue .. 'active', '-1', id)
end

local function endLease(queue, id)
  call('DEL', queue .. id .. ':lock')
  return leaveActive(queue, id)
end

local function clearCrashes(queue, id)
  call('HDEL', queue .. id, 'stc', 'crashes', 'started', 'cause')
end

local function endStart(queue, id)
  call('HDEL', queue .. id, 'stc', 'crashes', 'started', 'cause', 'leased')
end

-- The job of an event that has ended is deleted, and so is that of a suspended run. A worker uses a token again for its
-- next lease, even of the same job: the number of starts, where it is given, tells the leases of a job apart.
local function leaseOf(queue, id, token, starts, serviceType)
  if lockOf(queue .. id) ~= token then
    local isPending = call('EXISTS', queue .. id) == 1 or serviceType and call('HEXISTS', key('suspended', serviceType), id) == 1
    return isPending and 'fenced' or 'already'
  end
  if not starts then return 'ok' end
  local fields = call('HMGET', queue .. id, 'ats', 'timestamp', 'attempts', 'dedupe', 'overlap')
  if fields[1] ~= starts then return 'fenced' end
  return 'ok', fields
end

--- @per-call
locks = {}
