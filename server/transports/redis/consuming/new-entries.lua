--[[
Reads the entries of a run that a delivery does not know.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease, number of entries that the delivery knows, 1 to resolve waits by time
Reply    entries, milliseconds until the next wait resolves by time or nothing, offers as offersOf returns them
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../runs/run-records.lua"
--- @include "../runs/run-waits.lua"
--- @include "./own-timers.lua"

local _, id, _, starts, serviceType = take(), take(), take(), take(), take()
local known, isTimed = takeNumber(), take() == '1'
local dueInMs = isTimed and resolveOwnTimers(serviceType, id)
local offers = offersOf(serviceType, id)
return { entriesSince(serviceType, id, known, starts), dueInMs, offers }
