--[[
Reads the parts of the histories of many types that cover a range: those of the first kind of periods that goes back to its start.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     types, separated by commas, start of the range, number of kinds, then for each kind: its length in milliseconds, its number of periods, number of parts, name of each
Reply    the time, the minutes that are not in the histories yet, the names of the parts, and a list of their texts per type
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

local types, from, names, isCovered = splitList(take()), takeNumber(), nil, false
for _ = 1, takeNumber() do
  local stepMs, length, ofKind = takeNumber(), takeNumber(), {}
  for index = 1, takeNumber() do ofKind[index] = take() end
  if not isCovered then
    names, isCovered = ofKind, from >= (math.floor(now / stepMs) - length + 1) * stepMs
  end
end
local reply = { now, readMinutes(types, unfoldedSums(), '-inf'), names }
if names[1] == 'minutes' then
  for index, lastHour in ipairs(readFields(key('last-hours'), types)) do reply[3 + index] = { lastHour } end
else
  for index, type in ipairs(types) do reply[3 + index] = call('HMGET', key('history', type), unpack(names)) end
end
return reply
