--[[
Notes that all service types of a service are settled, and tells its processes.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, number of membership changes that the settlement includes
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"

local service, change = take(), take()
local settlement = key('settlement', service)
if call('HGET', settlement, 'changes') == change then call('HSET', settlement, 'settled', change) end
call('INCR', key('revision'))
-- Without the permission the processes learn of it with their next heartbeat.
redis.pcall('PUBLISH', key('settled'), service)
