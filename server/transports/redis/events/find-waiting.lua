--[[
Finds an event of a service that waits.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, job id
Reply    queue, service type, data of the job; nothing if no such event waits
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./stands-waiting.lua"

local service, id = take(), take()
local names = call('SMEMBERS', key('subscribed', service))
names[#names + 1] = service
for _, name in ipairs(names) do
  local queue = queueKey(name)
  local serviceType, data = unpack(call('HMGET', queue .. id, 'serviceType', 'data'))
  if serviceType and standsWaiting(serviceType, queue, id) then return { queue, serviceType, data } end
end
return nil
