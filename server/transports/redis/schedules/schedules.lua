--[[
Reads the schedules of all services.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     nothing
Reply    the result of readSchedules
Access   reads
]]
--- @include "./schedule-records.lua"

return readSchedules()
