--[[
Removes the payloads of a request from dead letters and ended runs.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id of the request as JSON and as a job id
Reply    numbers of dead letters, of runs, and of events that are pending
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./stored-events.lua"

local deadLetterCount, runCount, pendingCount = 0, 0, 0
local requestId, ownId = take(), take()
local function erase(serviceType, id)
  local run = key('run', serviceType, id)
  local shown, status = unpack(call('HMGET', run, 'shown', 'status'))
  if status then
    runCount = runCount + 1
    call('HSET', run, 'data', shown)
    call('HDEL', run, 'openWaits')
    if status == 'completed' then call('HSET', run, 'value', '') end
    call('DEL', run .. ':order', run .. ':checkpoints', run .. ':outputs')
  end
  if not status and (jobQueue(serviceType, id) or hasRun(serviceType, id)) then
    pendingCount = pendingCount + 1
  else
    call('DEL', logKeys(serviceType, id))
  end
  if hasDeadLetter(serviceType, id) then
    deadLetterCount = deadLetterCount + 1
    deleteDeadLetter(serviceType, id)
  end
  changesOf(serviceType)
end

local isErased = {}
for _, event in ipairs(eventsOf(requestId, ownId, -1)) do
  local name = event[1] .. ' ' .. event[2]
  if not isErased[name] and requestIdOf(event[1], event[2]) == requestId then
    isErased[name] = true
    erase(event[1], event[2])
  end
end
eraseKept(requestId)
writeChanges()
return { deadLetterCount, runCount, pendingCount }
