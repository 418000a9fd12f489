--[[
Stores a schedule that was set at run time, unless another one than the caller knows is stored.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id, expected definition or empty, maximum number of schedules, definition, position, time to look at it or empty, body
Reply    stored, changed or full
Access   stores
]]
--- @include "./stored-schedules.lua"
--- @include "../connection/prelude.lua"

local id, expected, limit = take(), take(), takeNumber()
local definition, position, lookAt, body = take(), take(), take(), take()
local known = readStored(id)
if (known and known[2] or '') ~= expected then return 'changed' end
if not known and call('ZCARD', key('stored-schedules')) >= limit then return 'full' end
if known and tonumber(known[3]) > tonumber(position) then position = known[3] end
call('HSET', key('stored-schedule', id), 'definition', definition, 'position', position, 'lookAt', lookAt, 'body', body)
call('ZADD', key('stored-schedules'), 0, id)
lookAtStored(id, lookAt)
call('INCR', key('revision'))
return 'stored'
