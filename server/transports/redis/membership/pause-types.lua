--[[
Sets the service types of which a service starts nothing, for the next rebalance.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, revision, 1 for all service types, service type...
Reply    number of membership changes; nothing if these are set already, or others by a higher revision
Access   works
]]
--- @include "../connection/prelude.lua"

local service, revision, isAll = take(), takeNumber(), take() == '1'
local paused = isAll and 'all' or cjson.encode({ unpack(ARGV, 4) })
local settlement = key('settlement', service)
local former, known = unpack(call('HMGET', settlement, 'pauseRevision', 'paused'))
if revision < tonumber(former or 0) then return nil end
call('HSET', settlement, 'pauseRevision', string.format('%.0f', revision), 'paused', paused)
if paused == (known or '{}') then return nil end
return call('HINCRBY', settlement, 'changes', 1)
