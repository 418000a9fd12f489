--- @include "../connection/prelude.lua"
--- @include "../runs/run-retention.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./acceptance.lua"
--- @include "./attempt-ends.lua"

-- `endTree(serviceType, id, outcome, reason)` ends a run, leased or not, and the child runs that it waits for. Processes
-- that run one of them receive the reason, an error as JSON. Returns a commit result.

local function endTree(serviceType, id, outcome, reason)
  restoreRun(serviceType, id)
  local queue, status, attempt = unpack(call('HMGET', key('run', serviceType, id), 'queue', 'status', 'attempt'))
  if not queue then return 'fenced' end
  if status then return 'already' end
  outcome.attempt = tonumber(attempt)
  local token = call('GET', queue .. id .. ':lock')
  local waits = dropWaits(serviceType, id)
  withdraw(queue, id, serviceType)
  endAttempt(queue, id, serviceType, true, outcome)
  if token then
    notify(processOf(token), { serviceType = serviceType, id = id, reason = reason })
  end
  if outcome.status ~= 'failed' then return 'ok' end
  for _, wait in ipairs(waits) do
    if wait.child then
      local followUps = {}
      for index, stored in ipairs(cjson.decode(wait.onCancel or '[]')) do followUps[index] = readFrom(stored, takeEmit) end
      endTree(wait.child.serviceType, wait.child.id, {
        status = 'failed', isCancelled = true, value = outcome.value, bucket = outcome.bucket,
        durationMs = outcome.durationMs, followUps = followUps,
      }, reason)
    end
  end
  return 'ok'
end
