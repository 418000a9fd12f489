--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"

-- A worker resolves waits by time when it asks for a job. The delivery of a run does it too: all slots may be taken.

local function resolveOwnTimers(serviceType, id)
  local waits = call('HGETALL', key('run', serviceType, id, 'waits'))
  local nextDueAt
  for index = 1, #waits, 2 do
    local dueAt = cjson.decode(waits[index + 1]).dueAt
    if dueAt and dueAt <= now then
      resolveByTime(serviceType, id, waits[index])
    elseif dueAt and (not nextDueAt or dueAt < nextDueAt) then
      nextDueAt = dueAt
    end
  end
  arrangeTypes()
  writeChanges()
  return nextDueAt and nextDueAt - now or false
end
