--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "./run-records.lua"
--- @include "./run-retention.lua"
--- @include "./suspended-runs.lua"

-- Open waits of runs. The first condition that comes true resolves a wait: the resolution becomes an entry of the run,
-- and the run becomes ready if it is suspended.
--
-- - `addWait(serviceType, id, name, wait)` stores a wait
-- - `resolveByTime(serviceType, id, name)`, `resolveByEvent(envelope)`, `resolveByRun(parent, id, outcome)` resolve
-- - `resolveDue(serviceType, limit)` resolves the waits of a service type whose time has come
-- - `dropWaits(serviceType, id)` forgets the waits of a run that ends and is not suspended, and returns them. The record
--   of the run retains the oldest ones, without the events to emit if they are cancelled

local awaitedTypes
local function isAwaited(type)
  if awaitedTypes[type] == nil then awaitedTypes[type] = call('EXISTS', key('waiting', type)) == 1 end
  return awaitedTypes[type]
end

-- Ids are long, and each wait would have two.
local function numberOf(serviceType, id)
  return string.format('%.0f', call('ZSCORE', key('runs', serviceType), id))
end

local function runOf(serviceType, number)
  return call('ZRANGEBYSCORE', key('runs', serviceType), number, number)[1]
end

local function timerOf(serviceType, id, name)
  return numberOf(serviceType, id) .. ' ' .. name
end

local function waiterOf(eventKey, serviceType, id, name)
  return eventKey .. ' ' .. serviceType .. ' ' .. numberOf(serviceType, id) .. ' ' .. name
end

local function waitersOf(type, eventKey)
  return call('ZRANGEBYLEX', key('waiting', type), '[' .. eventKey .. ' ', '(' .. eventKey .. '!')
end

local function packedWait(record, name)
  local waits = record and record[6] or {}
  for index = 1, #waits, 2 do
    if waits[index] == name then return waits[index + 1] end
  end
  return nil
end

local function openWait(serviceType, id, name)
  local json = call('HGET', key('run', serviceType, id, 'waits'), name)
  if json then return cjson.decode(json) end
  return packedWait(suspendedRun(serviceType, id), name)
end

local function addWait(serviceType, id, name, wait)
  call('HSET', key('run', serviceType, id, 'waits'), name, cjson.encode(wait))
  if wait.dueAt then
    call('ZADD', key('timers', serviceType), wait.dueAt, timerOf(serviceType, id, name))
    local state = stateOf(serviceType)
    if not state.hasTimers then
      state.hasTimers = true
      call('HSET', key('dispatch', serviceType), 'hasTimers', 1)
    end
    changedTypes[serviceType] = true
  end
  if wait.isApproval then
    call('ZADD', key('approvals', serviceType), wait.since, id .. ':' .. name)
    -- Types without approvals are counted without a look at their key.
    changesOf(serviceType).a = 1
  end
  if wait.event then
    awaitedTypes[wait.event.type] = true
    call('ZADD', key('waiting', wait.event.type), 0, waiterOf(wait.event.key, serviceType, id, name))
  end
  announceChange(serviceType, id)
end

local function removeWait(serviceType, id, name, wait)
  call('HDEL', key('run', serviceType, id, 'waits'), name)
  if wait.dueAt then
    call('ZREM', key('timers', serviceType), timerOf(serviceType, id, name))
    changedTypes[serviceType] = true
  end
  if wait.isApproval then call('ZREM', key('approvals', serviceType), id .. ':' .. name) end
  if wait.event then
    call('ZREM', key('waiting', wait.event.type), waiterOf(wait.event.key, serviceType, id, name))
  end
end

local function resolve(serviceType, id, name, wait, fields, output)
  local restoredTo = restoreRun(serviceType, id)
  removeWait(serviceType, id, name, wait)
  local shown = string.format('{%s,"since":%.0f,"at":%.0f', fields, wait.since, now)
  if output == '' then shown = shown .. '}' else shown, output = shown .. output[1] .. 'null}', output[2] .. '}' end
  appendEntry(serviceType, id, name, 0, shown, output)
  changesOf(serviceType)
  if restoredTo then
    enterGate(serviceType, id, call('HGET', restoredTo .. id, 'order'))
    return
  end
  local queue = call('HGET', key('run', serviceType, id), 'queue')
  local token = call('GET', queue .. id .. ':lock')
  if token then notify(processOf(token), { serviceType = serviceType, id = id, recorded = true }) end
end

local function resolveByTime(serviceType, id, name)
  local wait = openWait(serviceType, id, name)
  if wait then resolve(serviceType, id, name, wait, '"by":"time"', '') end
end

-- Returns true if a wait received the event.
local function resolveByEvent(envelope)
  if not isAwaited(envelope.type) then return false end
  local waiters = waitersOf(envelope.type, '')
  if envelope.key ~= '' then
    for _, waiter in ipairs(waitersOf(envelope.type, envelope.key)) do waiters[#waiters + 1] = waiter end
  end
  if #waiters == 0 then return false end
  local isReceived = false
  local body = string.match(envelope.head, ',"body":(".*")$')
  local payload = cjson.decode('[' .. body .. ']')[1]
  local fields = '"by":"event","id":' .. cjson.encode(decodeName(string.sub(envelope.id, 3)))
  for _, waiter in ipairs(waiters) do
    local serviceType, number, name = string.match(waiter, '^%S* (%S+) (%S+) (.*)$')
    local id = runOf(serviceType, number)
    local wait = id and openWait(serviceType, id, name)
    if wait and wait.dueAt and wait.dueAt <= now then
      resolveByTime(serviceType, id, name)
    elseif wait then
      resolve(serviceType, id, name, wait, fields, { ',"payload":', payload })
      isReceived = true
    end
  end
  return isReceived
end

local function resolveByRun(parentJson, id, outcome)
  local parent = cjson.decode(parentJson)
  local serviceType, parentId, name = parent[1], parent[2], decodeName(parent[3])
  local wait = openWait(serviceType, parentId, name)
  if not wait or not wait.child or wait.child.id ~= id then return end
  local fields = '"by":"run","id":' .. cjson.encode(decodeName(string.sub(id, 3))) .. ',"status":"' .. outcome.status .. '"'
  if outcome.status == 'failed' then
    resolve(serviceType, parentId, name, wait, fields .. ',"error":' .. outcome.value, '')
  else
    local result = outcome.value == '' and 'null' or outcome.value
    resolve(serviceType, parentId, name, wait, fields, { ',"result":', result })
  end
end

local function resolveDue(serviceType, limit)
  local due = call('ZRANGEBYSCORE', key('timers', serviceType), '-inf', now, 'LIMIT', 0, limit)
  for _, member in ipairs(due) do
    local number, name = string.match(member, '^(%S+) (.*)$')
    call('ZREM', key('timers', serviceType), member)
    local id = runOf(serviceType, number)
    if id then resolveByTime(serviceType, id, name) end
  end
  return #due
end

-- A flat list of names and waits as JSON.
local function oldestWaits(waits)
  table.sort(waits, function(a, b)
    return a.wait.since < b.wait.since or a.wait.since == b.wait.since and a.name < b.name
  end)
  local oldest = {}
  for index = 1, math.min(#waits, constants.retainedWaits) do
    local name, wait = waits[index].name, waits[index].wait
    oldest[index * 2 - 1] = name
    oldest[index * 2] = cjson.encode({
      since = wait.since, dueAt = wait.dueAt, event = wait.event, isApproval = wait.isApproval,
      child = wait.child and { id = wait.child.id },
    })
  end
  return oldest
end

local function dropWaits(serviceType, id)
  local waits = key('run', serviceType, id, 'waits')
  if call('EXISTS', waits) == 0 then return {} end
  local list, named, fields = {}, {}, call('HGETALL', waits)
  for index = 1, #fields, 2 do
    local wait = cjson.decode(fields[index + 1])
    removeWait(serviceType, id, fields[index], wait)
    list[#list + 1] = wait
    named[#named + 1] = { name = fields[index], wait = wait }
  end
  call('HSET', key('run', serviceType, id), 'openWaits', cjson.encode(oldestWaits(named)))
  return list
end

--- @per-call
awaitedTypes = {}
