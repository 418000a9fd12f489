--[[
Stores histories that include a minute, and removes the counts of the minute, each only if neither its history nor the counts have changed.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     minute, new value of rolled, then for each type: type, counts of the minute, version of its history, new version, the texts of the history, of them the last one empty if it stays
Reply    number of stored histories
Access   works
]]
--- @include "../connection/prelude.lua"

local minute, rolled = take(), take()
local counted, stored = key('counted', minute), 0
while position < #ARGV do
  local type, counts, version, newVersion, lastHour, latest, past = take(), take(), take(), take(), take(), take(), take()
  local history = key('history', type)
  if call('HGET', counted, type) == counts and (call('HGET', history, 'version') or '') == version then
    call('HSET', key('last-hours'), type, lastHour)
    call('HSET', history, 'version', newVersion, 'latest', latest)
    if past ~= '' then call('HSET', history, 'past', past) end
    call('PEXPIRE', history, constants.historyMs)
    call('HDEL', counted, type)
    stored = stored + 1
  end
end
if call('EXISTS', counted) == 0 then call('ZREMRANGEBYSCORE', key('counted-minutes'), minute, minute) end
call('SET', key('rolled'), rolled)
return stored
