--[[
Reads a stored schedule.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id
Reply    the result of readStored
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-schedules.lua"

return readStored(take())
