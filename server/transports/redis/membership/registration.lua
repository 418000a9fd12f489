--- @include "../connection/prelude.lua"
--- @include "./retained-descriptions.lua"

-- Processes with the same description share one copy of it, stored under its hash.

local function registerProcess(process, ttlMs, hash, state, consumerOf)
  if call('GET', key('process', process)) ~= hash then call('INCR', key('revision')) end
  call('SET', key('process', process), hash, 'PX', ttlMs)
  if state ~= '' then call('SET', key('state', process), state, 'PX', ttlMs) end
  if call('ZREMRANGEBYSCORE', key('registrations'), '-inf', now) > 0 then call('INCR', key('revision')) end
  call('ZADD', key('registrations'), now + ttlMs, process)
  return keepDescription(hash, ttlMs, consumerOf)
end

-- Returns the number of changes of the service's members, and the last one that a rebalance includes.
local function changesOfMembers(service)
  local changes, settled = unpack(call('HMGET', key('settlement', service), 'changes', 'settled'))
  return changes or '0', settled or '0'
end
