--[[
Stores waits of a run, and accepts their child runs for its service alone. A wait whose key is stored or recorded is left as it is.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease, number of waits, (key, delay in milliseconds or empty, type of the event or empty, key of the event, encoded key or empty, retry, approval, judged or empty, events of a cancelled child as JSON or empty, 1 if a child run follows, envelope, events that it receives)...
Reply    ok, or fenced if the lease is lost
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "../events/acceptance.lua"

local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return 'fenced' end

local function acceptChild(envelope)
  local childType = serviceOf(serviceType) .. '/' .. envelope.type
  if not hasRun(childType, envelope.id) then
    local route = call('HGET', key('routes', envelope.type), childType)
    -- A service that does not handle the type yet keeps the run until it does.
    route = route and cjson.decode(route) or { serviceType = childType, type = decodeName(envelope.type), retainsRuns = true }
    queueJob(route, envelope, envelope.id, envelope.depth)
  end
  return { serviceType = childType, id = envelope.id }
end

for _ = 1, takeNumber() do
  local name, delayMs, eventType, eventKey = take(), tonumber(take()), take(), take()
  local shownKey, purpose = take(), take()
  local onCancel, hasChild = take(), take() == '1'
  local child = hasChild and takeEnvelope()
  if child then child.receives = take() end
  local isKnown = call('HEXISTS', key('run', serviceType, id, 'waits'), name) == 1
    or call('HEXISTS', key('run', serviceType, id, 'checkpoints'), name) == 1
  if not isKnown then
    local wait = {
      since = now,
      dueAt = delayMs and now + math.ceil(delayMs) or nil,
      event = eventType ~= '' and { type = eventType, key = eventKey, shownKey = shownKey ~= '' and shownKey or nil } or nil,
      child = child and acceptChild(child) or nil,
      isApproval = purpose == 'approval' or nil,
      isJudged = purpose == 'judged' or nil,
      onCancel = onCancel ~= '' and onCancel or nil,
    }
    addWait(serviceType, id, name, wait)
    if wait.event then takeKept(serviceType, id) end
    if purpose == 'retry' then countOne(serviceType, 't') else changesOf(serviceType) end
  end
end
clearCrashes(queue, id)
arrangeTypes()
writeChanges()
return 'ok'
