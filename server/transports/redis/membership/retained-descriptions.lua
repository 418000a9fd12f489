--- @include "../connection/prelude.lua"

-- Descriptions of consuming processes outlive them: introspection shows those of a service without such a process. A
-- description is dropped when its process has another one, when a process of the service runs `formerConnectionMs`
-- after the last heartbeat with it, and when the service is retired. So a service has those of the processes that ended
-- last, and none of an earlier release. A service has none before it subscribes: those of a process that dies while it
-- starts expire.
--
-- - `retainDescription(service, hash, ttlMs, former)` retains a stored description in place of another one
-- - `keepDescription(hash, ttlMs, service)` extends the life of a description, and returns 0 if it has yet to be stored,
--   else 1; `service` is empty if the process does not consume
-- - `stoppedDescriptions(isLive)` returns the hashes of all services that have no live process
-- - `dropDescriptions(service)` deletes those of a service

local function dropDescription(retained, hash, ttlMs)
  call('ZREM', retained, hash)
  -- A live process may share it, and extends its life.
  call('PEXPIRE', key('description', hash), ttlMs)
end

local function retainDescription(service, hash, ttlMs, former)
  local retained = key('last-descriptions', service)
  if former ~= '' and former ~= hash then dropDescription(retained, former, ttlMs) end
  for _, old in ipairs(call('ZRANGEBYSCORE', retained, '-inf', now - constants.formerConnectionMs)) do
    if old ~= hash then dropDescription(retained, old, ttlMs) end
  end
  call('ZADD', retained, now, hash)
  if call('SISMEMBER', key('services'), service) == 1 then
    call('PERSIST', key('description', hash))
  else
    call('PEXPIRE', key('description', hash), ttlMs)
    call('PEXPIRE', retained, ttlMs)
  end
end

local function keepDescription(hash, ttlMs, service)
  local description = key('description', hash)
  if call('EXISTS', description) == 0 then return 0 end
  if service == '' then
    call('PEXPIRE', description, ttlMs, 'GT')
    return 1
  end
  if not call('ZSCORE', key('last-descriptions', service), hash) then return 0 end
  retainDescription(service, hash, ttlMs, '')
  return 1
end

local function stoppedDescriptions(isLive)
  local found = {}
  for _, service in ipairs(call('SMEMBERS', key('services'))) do
    local isStopped = true
    for _, member in ipairs(call('ZRANGE', key('members', service), 0, -1)) do
      isStopped = isStopped and not isLive[member]
    end
    if isStopped then
      for _, hash in ipairs(call('ZRANGE', key('last-descriptions', service), 0, -1)) do found[#found + 1] = hash end
    end
  end
  return found
end

local function dropDescriptions(service)
  local retained = key('last-descriptions', service)
  for _, hash in ipairs(call('ZRANGE', retained, 0, -1)) do call('DEL', key('description', hash)) end
  call('DEL', retained)
end
