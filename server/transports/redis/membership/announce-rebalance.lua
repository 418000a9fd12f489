--[[
Notes that all service types of a service are rebalanced, and notifies its processes.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, number of membership changes that the rebalance includes
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"

local service, change = take(), take()
local rebalance = key('settlement', service)
if call('HGET', rebalance, 'changes') == change then call('HSET', rebalance, 'settled', change) end
call('INCR', key('revision'))
-- Without the permission the processes learn of it with their next heartbeat.
redis.pcall('PUBLISH', key('settled'), service)
