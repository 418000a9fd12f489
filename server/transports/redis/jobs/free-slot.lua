--[[
Frees the slot of a handler that ran on after its outcome.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./gates.lua"
--- @include "./key-queues.lua"

local _, id, token, starts, serviceType = take(), take(), take(), take(), take()
if not dropSlot(serviceType, overdueLease(token, id, starts)) then return end
countReturned(serviceType)
changedTypes[serviceType] = true
arrangeTypes()
