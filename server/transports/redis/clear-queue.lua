--[[
Discards jobs of retired service types from one list of a queue, at most constants.maxDiscarded per call.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue name, list, position
Reply    the next position, 0 at the end; the number of discarded jobs
Access   works
]]
--- @include "./connection/prelude.lua"
--- @include "./jobs/gates.lua"
--- @include "./statistics/counters.lua"
--- @include "./jobs/type-states.lua"
--- @include "./events/discard.lua"

local queue, list, from = queueKey(take()), take(), takeNumber()
local portion = constants.maxDiscarded
local ids = call('LRANGE', queue .. list, from, from + portion - 1)
local discarded = 0
for _, id in ipairs(ids) do
  local serviceType = call('HGET', queue .. id, 'serviceType')
  if serviceType and not isSubscribed(serviceType) then
    discard(queue, id)
    discarded = discarded + 1
  end
end
arrangeTypes()
writeChanges()
return { #ids == portion and from + portion - discarded or 0, discarded }
