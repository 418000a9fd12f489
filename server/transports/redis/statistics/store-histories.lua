--[[
Stores histories that include a minute, and removes the counts of the minute, each only if neither its history nor the counts have changed.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     minute, new value of rolled, then for each type: type, counts of the minute, version of its history, new version, first hour that is retained or 0, number of changed parts, name and text of each
Reply    number of stored histories
Access   works
]]
--- @include "../connection/prelude.lua"

local minute, rolled = take(), take()
local counted, stored = key('counted', minute), 0
while position < #ARGV do
  local type, counts, version, newVersion, firstHour = take(), take(), take(), take(), takeNumber()
  local history, lastHour, fields = key('history', type), nil, { 'version', newVersion }
  for _ = 1, takeNumber() do
    local name, text = take(), take()
    if name == 'minutes' then lastHour = text
    else
      fields[#fields + 1] = name
      fields[#fields + 1] = text
    end
  end
  if call('HGET', counted, type) == counts and (call('HGET', history, 'version') or '') == version then
    call('HSET', key('last-hours'), type, lastHour)
    call('HSET', history, unpack(fields))
    if firstHour > 0 then
      for _, hour in ipairs(call('HKEYS', history)) do
        if (tonumber(hour) or firstHour) < firstHour then call('HDEL', history, hour) end
      end
    end
    call('PEXPIRE', history, constants.historyMs)
    call('HDEL', counted, type)
    stored = stored + 1
  end
end
if call('EXISTS', counted) == 0 then call('ZREMRANGEBYSCORE', key('counted-minutes'), minute, minute) end
call('SET', key('rolled'), rolled)
return stored
