--[[
Reads a page of the retained runs of a service type, newest first, or of the dead letters whose runs are no longer retained.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type, maximum number, `runs` or `dead-letters`, position of the last one that the caller has or empty
Reply    a list with, for each, the result of readEvent; then the position of the last one if there may be more
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-events.lua"

local serviceType, limit, list, last = take(), takeNumber(), take(), take()
local newest = last == '' and '+inf' or '(' .. last
local ids = call('ZREVRANGEBYSCORE', key(list, serviceType), newest, '-inf', 'WITHSCORES', 'LIMIT', 0, limit)
local found = {}
for index = 1, #ids, 2 do
  local isOther = list == 'dead-letters' and call('ZSCORE', key('runs', serviceType), ids[index])
  local event = not isOther and readEvent(serviceType, ids[index], 'shown')
  if event then found[#found + 1] = event end
end
return { found, #ids == 2 * limit and ids[#ids] }
