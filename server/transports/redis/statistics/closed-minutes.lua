--[[
Reads types with counts in the oldest minute that is over and not in the histories yet, and their histories. For some seconds no other process receives any.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     process id, cursor of the last reply or 0, maximum number of types
Reply    nothing if there is nothing to do; else the minute, the next cursor, and lists of a type, its counts, version of its history, the last hour, the latest periods, and the hours only if one has ended
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./counters.lua"

local process, cursor, limit = take(), take(), takeNumber()
-- By its score: something else may have written another name.
local minute = tonumber(call('ZRANGE', key('counted-minutes'), 0, 0, 'WITHSCORES')[2])
if not minute or minute >= math.floor(now / constants.minuteMs) then return nil end
local roller = call('GET', key('rolling'))
if roller and roller ~= process then return nil end
call('SET', key('rolling'), process, 'PX', constants.rollingMs)
-- Of all that is counted from now on, nothing belongs to the minute.
foldChanges()
local hour = math.floor(minute / constants.hourPerMinute)
local nextCursor, found = unpack(call('HSCAN', key('counted', minute), cursor, 'COUNT', limit))
local reply = { minute, nextCursor }
-- A small hash is returned as a whole. What is left out is there when the next scan begins.
for index = 1, math.min(#found, 2 * limit), 2 do
  local type, counts = found[index], found[index + 1]
  local version, latest = unpack(call('HMGET', key('history', type), 'version', 'latest'))
  local last = tonumber(string.match(version or '', '^%d+'))
  local endsHour = last and math.floor(last / constants.hourPerMinute) ~= hour
  reply[#reply + 1] = { type, counts, version or '', call('HGET', key('last-hours'), type) or '', latest or '',
    endsHour and call('HGET', key('history', type), 'hours') or '' }
end
-- Something else may have deleted the hash.
if call('EXISTS', key('counted', minute)) == 0 then call('ZREMRANGEBYSCORE', key('counted-minutes'), minute, minute) end
return reply
