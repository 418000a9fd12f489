--[[
Reads the latest dead letters of a service type, newest first. Stops after constants.maxBatchLength characters.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type, maximum number, earliest and latest time of the failure, id of the request as JSON and as a job id, or both empty, position of the last one that the caller has or empty
Reply    a list with, for each: job id, data, time of the failure, attempt, error, step; then the position of the last one if it stopped early
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"

local serviceType, limit, since, latest = take(), takeNumber(), takeNumber(), takeNumber()
local requestId, ownId, last = take(), take(), take()
if last == '' then forgetExpired(serviceType) end
local ids
if requestId == '' then
  local newest = last == '' and '+inf' or '(' .. last
  ids = call('ZREVRANGEBYSCORE', key('dead-letters', serviceType), newest, '-inf', 'LIMIT', 0, limit)
else
  ids = {}
  local orders = {}
  local function add(id)
    if orders[id] then return end
    orders[id] = tonumber(call('ZSCORE', key('dead-letters', serviceType), id) or '')
    if last ~= '' and orders[id] and orders[id] >= tonumber(last) then return end
    if orders[id] and requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')) == requestId then ids[#ids + 1] = id end
  end
  add(ownId)
  for _, event in ipairs(indexedEvents(requestId, -1)) do if event[1] == serviceType then add(event[2]) end end
  table.sort(ids, function(a, b) return orders[a] > orders[b] end)
end
local found, length, stoppedAt, isLate = {}, 0, false, false
for _, id in ipairs(ids) do
  if #found == limit then break end
  if length > constants.maxBatchLength then
    stoppedAt = call('ZSCORE', key('dead-letters', serviceType), found[#found][1])
    break
  end
  local deadLetter = deadLetterKey(serviceType, id)
  local owner, at = unpack(call('HMGET', deadLetter, 'serviceType', 'at'))
  if owner == serviceType and tonumber(at) > latest then
    isLate = true
  elseif owner == serviceType and tonumber(at) >= since then
    found[#found + 1] = { id, unpack(call('HMGET', deadLetter, 'data', 'at', 'attempt', 'error', 'step')) }
    length = length + #found[#found][2]
  end
end
-- Those that failed too late have taken the places of others.
if not stoppedAt and isLate and requestId == '' and #ids == limit and #found < limit then
  stoppedAt = call('ZSCORE', key('dead-letters', serviceType), ids[#ids])
end
writeLog()
return { found, stoppedAt }
