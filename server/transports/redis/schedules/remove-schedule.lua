--[[
Removes a stored schedule.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id
Reply    1; 0 if there is none
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-schedules.lua"

local id = take()
lookAtStored(id, '')
call('ZREM', key('stored-schedules'), id)
call('INCR', key('revision'))
return call('DEL', key('stored-schedule', id))
