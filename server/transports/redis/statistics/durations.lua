--[[
Reads the durations of many types.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     types, separated by commas
Reply    of each type the minutes that are not in its history yet, and the durations of those that are
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

local types, reply = splitList(take()), {}
local minutes = readMinutes(types, unfoldedSums())
for index, type in ipairs(types) do
  reply[index] = { minutes[index] or '', call('HGET', key('history', type), 'durations') or '' }
end
return reply
