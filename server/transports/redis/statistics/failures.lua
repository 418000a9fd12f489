--[[
Reads the latest failures of a type.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     type
Reply    for each service type its failures as JSON, newest first
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

local reply = {}
for index, serviceType in ipairs(serviceTypesOf(take())) do
  reply[index] = call('LRANGE', key('failures', serviceType), 0, -1)
end
return reply
