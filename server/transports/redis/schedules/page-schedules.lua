--[[
Reads stored schedules in the order of their ids.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id after which they come or empty, maximum number
Reply    number of all stored schedules, list of results of readStored
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-schedules.lua"

local after, limit = take(), takeNumber()
local from = after == '' and '-' or '(' .. after
local reply = {}
for _, id in ipairs(call('ZRANGEBYLEX', key('stored-schedules'), from, '+', 'LIMIT', 0, limit)) do
  reply[#reply + 1] = readStored(id)
end
return { call('ZCARD', key('stored-schedules')), reply }
