--[[
Accepts the event of a dead letter again, for the service of the dead letter alone, by the current route of its type. Repeated with the same token it returns the same and changes nothing.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     token, milliseconds to remember it, service, job id
Reply    1; 0 if there is no such dead letter; its service type if the service no longer subscribes to it
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../events/acceptance.lua"

local executed, rememberMs = key('executed', take()), take()
if call('EXISTS', executed) == 1 then return 1 end
local service, id = take(), take()
local deadLetter = key('dead-letter', service, id)
local serviceType, data, priority, starts, keyName, receives, overlap, admitted =
  unpack(call('HMGET', deadLetter, 'serviceType', 'data', 'priority', 'ats', 'key', 'receives', 'overlap', 'admitted'))
if not serviceType then return 0 end
local head, depth, replays = string.match(data, '^(.*),"depth":(%d+),"replays":(%d+)}$')
local route = call('HGET', key('routes', typeOf(serviceType)), serviceType)
if not route then return serviceType end

call('DEL', deadLetter)
forgetEnd(serviceType, id)
forgetIndexEnd(serviceType, id, requestIdIn(data))
call('ZREM', key('dead-letters', serviceType), id)
call('ZREM', key('expiring', serviceType), id)
call('DEL', key('run', serviceType, id))
call('PERSIST', key('run', serviceType, id, 'waiters'))
call('LREM', key('ended', serviceType, 'failed'), 1, id)
for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
  if call('EXISTS', deadLetter .. ':' .. part) == 1 then
    call('RENAME', deadLetter .. ':' .. part, key('run', serviceType, id, part))
    call('PERSIST', key('run', serviceType, id, part))
  end
end
local envelope = {
  head = head, key = keyName or '', priority = priority, delayMs = 0, replays = replays + 1, receives = receives or '',
  overlap = overlap,
}
-- One that is in use stands for the event that has it as well.
if overlap and call('HSETNX', overlap, 'id', id) == 1 then
  call('HSET', overlap, 'until', now, 'pending', 0)
elseif overlap and not string.find((call('HGET', overlap, 'others') or '') .. ' ', ' ' .. id .. ' ', 1, true) then
  call('HSET', overlap, 'others', (call('HGET', overlap, 'others') or '') .. ' ' .. id)
end
queueJob(cjson.decode(route), envelope, id, depth)
-- The number of starts tells the leases of an event apart, those before the replay included.
if starts then call('HSET', jobQueue(serviceType, id) .. id, 'ats', starts, 'earlier', starts) end
if admitted then call('HSET', jobQueue(serviceType, id) .. id, 'admitted', admitted) end
arrangeTypes()
writeChanges()
call('SET', executed, '', 'PX', rememberMs)
return 1
