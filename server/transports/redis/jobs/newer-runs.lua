--- @include "../connection/prelude.lua"
--- @include "./type-states.lua"

-- Runs that need a higher version of their workflow than the process that leased them has. The job notes the version in
-- `needs`. Only a process with that version takes it: its worker hears of it by a marker of its own.
--
-- - `versionOf(serviceType, process)` returns the version that a process has
-- - `awaitVersion(serviceType, id, version)` makes a run wait that stands nowhere else
-- - `leaveNewer(serviceType, id)` returns `true` if the run was one of them
-- - `wakeNewer(serviceType)` wakes the processes that can take one

local versions
local function versionOf(serviceType, process)
  local known = versions[serviceType .. ' ' .. process]
  if known then return known end
  local settings = call('HGET', key('handlers', serviceType), process)
  local version = settings and cjson.decode(settings).version or 1
  versions[serviceType .. ' ' .. process] = version
  return version
end

local function wakeNewer(serviceType)
  local lowest = tonumber(call('ZRANGE', key('newer', serviceType), 0, 0, 'WITHSCORES')[2])
  if not lowest then return end
  local marker = queueKey(stateOf(serviceType).queue) .. 'marker:'
  for _, process in ipairs(call('HKEYS', key('handlers', serviceType))) do
    if versionOf(serviceType, process) >= lowest then
      call('ZADD', marker .. process, '0', '0')
      call('PEXPIRE', marker .. process, constants.markerMs)
    end
  end
end

local function setHasNewer(serviceType, hasNewer)
  stateOf(serviceType).hasNewer = hasNewer
  local dispatch, types = key('dispatch', serviceType), key('newer-types', serviceOf(serviceType))
  if hasNewer then
    call('HSET', dispatch, 'hasNewer', 1)
    call('SADD', types, serviceType)
  else
    call('HDEL', dispatch, 'hasNewer')
    call('SREM', types, serviceType)
  end
end

local function awaitVersion(serviceType, id, version)
  call('ZADD', key('newer', serviceType), version, id)
  if not stateOf(serviceType).hasNewer then setHasNewer(serviceType, true) end
  wakeNewer(serviceType)
end

local function leaveNewer(serviceType, id)
  local newer = key('newer', serviceType)
  if call('ZREM', newer, id) == 0 then return false end
  if call('EXISTS', newer) == 0 then setHasNewer(serviceType, false) end
  return true
end

--- @per-call
versions = {}
