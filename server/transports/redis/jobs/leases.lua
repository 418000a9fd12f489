--- @include "../connection/prelude.lua"
--- @include "./gates.lua"

-- `leaseOf(queue, id, token, starts, serviceType)` returns a commit result, and what an outcome needs of the job: number of
-- starts, time of acceptance, failed attempts, deduplication, starts before a replay; `clearCrashes(queue, id)` resets the crash count of a job
-- whose handler has reported; `endStart(queue, id)` does so for an attempt that has an outcome.

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
  local fields = call('HMGET', queue .. id, 'ats', 'timestamp', 'attempts', 'dedupe', 'overlap', 'earlier')
  if fields[1] ~= starts then return 'fenced' end
  return 'ok', fields
end
