--[[
Reads the errors of the latest dead letters of a type in each service.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     type, maximum number per service
Reply    for each service type its name, then a list of each, newest first: job id, id of the request as JSON, time of the failure, attempt and error
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../statistics/count-records.lua"

local reply, types, limit = {}, serviceTypesOf(take()), takeNumber()
for index, serviceType in ipairs(types) do
  local found = { serviceType }
  for _, id in ipairs(call('ZREVRANGE', key('dead-letters', serviceType), 0, limit - 1)) do
    local owner, data, at, attempt, failure =
      unpack(call('HMGET', deadLetterKey(serviceType, id), 'serviceType', 'data', 'at', 'attempt', 'error'))
    if owner == serviceType then found[#found + 1] = { id, requestIdIn(data) or '', at, attempt, failure } end
  end
  reply[index] = found
end
return reply
