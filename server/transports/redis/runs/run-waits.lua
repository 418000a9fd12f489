--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
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
-- - `keepEvents(serviceType, id, receives)` keeps events for a run until its waits take them; `takeKept(serviceType, id,
--   name, wait)` resolves a new wait by the oldest one, `eraseKept(requestId)` removes those of a request
-- - `dropWaits(serviceType, id)` forgets the waits of a run that ends and is not suspended, and returns them. The record
--   of the run retains the oldest ones, without the events to emit if they are cancelled

local awaitedTypes

-- Lua allows 200 local variables at a time.
local addWait, resolveByTime, resolveByEvent, resolveByRun, resolveDue, dropWaits, keepEvents, takeKept, eraseKept
do
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

function addWait(serviceType, id, name, wait)
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

function resolveByTime(serviceType, id, name)
  local wait = openWait(serviceType, id, name)
  if wait then resolve(serviceType, id, name, wait, '"by":"time"', '') end
end

-- The hash `run:<serviceType>:<id>:inbox` has the events that a run keeps, by names in their order, and four more fields:
-- what it receives, the number of the next event, the size of the payloads, and the number of dropped events.
local function inboxOf(serviceType, id)
  return key('run', serviceType, id, 'inbox')
end

function keepEvents(serviceType, id, receives)
  call('HSET', inboxOf(serviceType, id), 'receives', receives, 'next', 0, 'bytes', 0, 'dropped', 0)
  for _, event in ipairs(cjson.decode(receives)) do
    awaitedTypes[event[1]] = true
    call('ZADD', key('waiting', event[1]), 0, waiterOf(event[2], serviceType, id, 'inbox'))
  end
end

local function keptNames(serviceType, id)
  local names = {}
  for _, name in ipairs(call('HKEYS', inboxOf(serviceType, id))) do
    if string.sub(name, 1, 5) == 'kept ' then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function keptMember(serviceType, id, name)
  return serviceType .. ' ' .. id .. ' ' .. name
end

local function removeKept(serviceType, id, name, event)
  call('HDEL', inboxOf(serviceType, id), name)
  call('HINCRBY', inboxOf(serviceType, id), 'bytes', -#event.payload)
  call('SREM', key('kept', event.requestId), keptMember(serviceType, id, name))
  changesOf(serviceType)
end

local function readKept(serviceType, id, name)
  return cjson.decode(call('HGET', inboxOf(serviceType, id), name))
end

local function keep(serviceType, id, envelope, payload)
  local inbox, requestId = inboxOf(serviceType, id), requestIdIn(envelope.head)
  local name = string.format('kept %012d', call('HINCRBY', inbox, 'next', 1))
  call('HSET', inbox, name, cjson.encode({
    type = envelope.type, key = envelope.key, id = envelope.id, requestId = requestId, payload = payload,
  }))
  call('SADD', key('kept', requestId), keptMember(serviceType, id, name))
  local bytes, count = call('HINCRBY', inbox, 'bytes', #payload), call('HLEN', inbox) - 4
  if count > constants.maxKeptEvents or bytes > constants.maxKeptBytes then
    for index, oldest in ipairs(keptNames(serviceType, id)) do
      local isFull = count > constants.maxKeptEvents or bytes > constants.maxKeptBytes and count > 1
      if not isFull or index > constants.maxKeptEvents then break end
      local event = readKept(serviceType, id, oldest)
      removeKept(serviceType, id, oldest, event)
      call('HINCRBY', inbox, 'dropped', 1)
      count, bytes = count - 1, bytes - #event.payload
    end
  end
  changesOf(serviceType)
end

local function eventFields(id)
  return '"by":"event","id":' .. cjson.encode(decodeName(string.sub(id, 3)))
end

function takeKept(serviceType, id, name, wait)
  if call('HLEN', inboxOf(serviceType, id)) <= 4 then return end
  for _, kept in ipairs(keptNames(serviceType, id)) do
    local event = readKept(serviceType, id, kept)
    if event.type == wait.event.type and (wait.event.key == '' or wait.event.key == event.key) then
      removeKept(serviceType, id, kept, event)
      resolve(serviceType, id, name, wait, eventFields(event.id), { ',"payload":', event.payload })
      return
    end
  end
end

function eraseKept(requestId)
  for _, member in ipairs(call('SMEMBERS', key('kept', requestId))) do
    local serviceType, id, name = string.match(member, '^(%S+) (%S+) (.*)$')
    removeKept(serviceType, id, name, readKept(serviceType, id, name))
  end
end

local function dropInbox(serviceType, id)
  local inbox = inboxOf(serviceType, id)
  local receives = call('HGET', inbox, 'receives')
  if not receives then return end
  for _, name in ipairs(keptNames(serviceType, id)) do
    removeKept(serviceType, id, name, readKept(serviceType, id, name))
  end
  for _, event in ipairs(cjson.decode(receives)) do
    call('ZREM', key('waiting', event[1]), waiterOf(event[2], serviceType, id, 'inbox'))
  end
  call('DEL', inbox)
end

-- Returns true if a wait or an inbox received the event.
function resolveByEvent(envelope)
  if not isAwaited(envelope.type) then return false end
  local waiters = waitersOf(envelope.type, '')
  if envelope.key ~= '' then
    for _, waiter in ipairs(waitersOf(envelope.type, envelope.key)) do waiters[#waiters + 1] = waiter end
  end
  if #waiters == 0 then return false end
  local isReceived, inboxes, firsts = false, {}, {}
  local body = string.match(envelope.head, ',"body":(".*")$')
  local payload = cjson.decode('[' .. body .. ']')[1]
  local fields = eventFields(envelope.id)
  local found = {}
  for _, waiter in ipairs(waiters) do
    local serviceType, number, name = string.match(waiter, '^%S* (%S+) (%S+) (.*)$')
    local run = serviceType .. ' ' .. number
    local id = runOf(serviceType, number)
    if id and name == 'inbox' then
      inboxes[#inboxes + 1] = { run = run, serviceType = serviceType, id = id }
      inboxes[run] = true
    elseif id then
      found[#found + 1] = { run = run, serviceType = serviceType, id = id, name = name }
    end
  end
  for _, each in ipairs(found) do
    local wait = openWait(each.serviceType, each.id, each.name)
    local first = firsts[each.run]
    each.wait = wait
    if wait and wait.dueAt and wait.dueAt <= now then
      resolveByTime(each.serviceType, each.id, each.name)
    elseif wait and not inboxes[each.run] then
      resolve(each.serviceType, each.id, each.name, wait, fields, { ',"payload":', payload })
      isReceived = true
    elseif wait and (not first or wait.since < first.wait.since or wait.since == first.wait.since and each.name < first.name) then
      firsts[each.run] = each
    end
  end
  -- Of the waits of a run with an inbox, one takes the event.
  for _, inbox in ipairs(inboxes) do
    local first = firsts[inbox.run]
    if first then
      resolve(first.serviceType, first.id, first.name, first.wait, fields, { ',"payload":', payload })
    else
      keep(inbox.serviceType, inbox.id, envelope, payload)
    end
    isReceived = true
  end
  return isReceived
end

function resolveByRun(parentJson, id, outcome)
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

function resolveDue(serviceType, limit)
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

function dropWaits(serviceType, id)
  dropInbox(serviceType, id)
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
end

--- @per-call
awaitedTypes = {}
