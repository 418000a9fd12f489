--- @include "../connection/prelude.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./acceptance.lua"
--- @include "./attempt-ends.lua"
--- @include "./event-ends.lua"

-- `endTree(serviceType, id, outcome, reason)` ends a run, leased or not, and the child runs that it waits for. Processes
-- that run one of them receive the reason, an error as JSON. Returns a commit result.

local function endTree(serviceType, id, outcome, reason)
  restoreRun(serviceType, id)
  local queue, status, attempt = unpack(call('HMGET', key('run', serviceType, id), 'queue', 'status', 'attempt'))
  if not queue then return 'fenced' end
  if status then return 'already' end
  outcome.attempt = tonumber(attempt)
  local waits = dropWaits(serviceType, id)
  interrupt(queue, id, serviceType, reason)
  endAttempt(queue, id, serviceType, true, outcome)
  if outcome.status == 'failed' then cancelChildren(waits, outcome, reason) end
  return 'ok'
end
