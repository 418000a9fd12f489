--[[
Records an entry of a run, and accepts the events that it emitted.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease, number of entries that the delivery knows, key, value as splitCheckpoint divides it, number of events, event...
Reply    a commit result: already if this delivery stored the key before, fenced if another delivery did or the lease is lost; unless it is fenced, then the entries that the delivery does not know
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-records.lua"
--- @include "../events/acceptance.lua"

local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
local known, name, shown, output = takeNumber(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return { 'fenced' } end
local stored = call('HGET', key('run', serviceType, id, 'checkpoints'), name)
if stored then
  if string.match(stored, '^%d+ (%d+) ') ~= starts then return { 'fenced' } end
  return { 'already', entriesSince(serviceType, id, known, starts) }
end
appendEntry(serviceType, id, name, starts, shown, output)
clearCrashes(queue, id)
changesOf(serviceType)
for _ = 1, takeNumber() do acceptEmit(takeEmit()) end
arrangeTypes()
writeChanges()
return { 'ok', entriesSince(serviceType, id, known, starts) }
