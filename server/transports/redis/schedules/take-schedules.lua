--[[
Reads stored schedules that are due, and holds them back from other processes for a time.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     maximum number, milliseconds to hold them
Reply    milliseconds until the next one can be taken or empty, list of results of readStored
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-schedules.lua"

local limit, holdMs = takeNumber(), takeNumber()
local reply = {}
for _, id in ipairs(call('ZRANGEBYSCORE', key('timetable'), '-inf', nowText, 'LIMIT', 0, limit)) do
  lookAtStored(id, string.format('%.17g', now + holdMs))
  reply[#reply + 1] = readStored(id)
end
local first = call('ZRANGE', key('timetable'), 0, 0, 'WITHSCORES')
local nextInMs = first[2] and string.format('%.17g', math.max(0, tonumber(first[2]) - now)) or ''
return { nextInMs, reply }
