--- @include "../connection/prelude.lua"
--- @include "./event-ends.lua"

-- `discard(queue, id)` fails a job of a service type that was retired.

local function discard(queue, id)
  local serviceType, attempts = unpack(call('HMGET', queue .. id, 'serviceType', 'atm'))
  withdraw(queue, id, serviceType)
  local retainsRuns = call('EXISTS', key('run', serviceType, id)) == 1
  local outcome = { status = 'failed', attempt = (attempts or 0) + 1, value = constants.retiredError }
  endJob(queue, id, serviceType, retainsRuns, outcome)
end
