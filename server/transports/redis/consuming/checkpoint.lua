--[[
Records entries of a run, and accepts the events that they emitted.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease, number of entries that the delivery knows, number of entries, (key, value as splitCheckpoint divides it, number of events, event...)...
Reply    a commit result for each: already if this delivery stored the key before, fenced if another delivery did; then the entries that the delivery does not know. Nothing if the lease is lost
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-records.lua"
--- @include "../events/acceptance.lua"

local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
local known, results = takeNumber(), {}
if leaseOf(queue, id, token, starts) ~= 'ok' then return nil end
changesOf(serviceType)
for index = 1, takeNumber() do
  local name, shown, output, emits = take(), take(), take(), {}
  for number = 1, takeNumber() do emits[number] = takeEmit() end
  local stored = call('HGET', key('run', serviceType, id, 'checkpoints'), name)
  if stored then
    results[index] = string.match(stored, '^%d+ (%d+) ') == starts and 'already' or 'fenced'
  else
    appendEntry(serviceType, id, name, starts, shown, output)
    for _, emit in ipairs(emits) do acceptEmit(emit) end
    results[index] = 'ok'
  end
end
clearCrashes(queue, id)
arrangeTypes()
writeChanges()
return { results, entriesSince(serviceType, id, known, starts) }
