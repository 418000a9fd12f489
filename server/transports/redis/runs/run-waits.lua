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
-- - `keepEvents(serviceType, id, conditions)` keeps events for a run until its waits take them; `takeKept(serviceType, id)`
--   passes them to a new wait, `eraseKept(requestId)` removes those of a request
-- - `offersOf(serviceType, id)` passes kept events to the waits that the service does not judge, and returns those about
--   which it decides; `decide(serviceType, id, name, condition, verdict, entry)` records a verdict
-- - `dropWaits(serviceType, id)` forgets the waits of a run that ends and is not suspended, and returns them. The record
--   of the run retains the oldest ones, without the events to emit if they are cancelled

local awaitedTypes

-- Lua allows 200 local variables at a time.
local addWait, resolveByTime, resolveByEvent, resolveByRun, resolveDue, dropWaits, keepEvents, takeKept, eraseKept
local offersOf, decide
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

-- The hash `run:<serviceType>:<id>:inbox` has the events that a run keeps, by names in their order, and five more fields:
-- the conditions of the run, each as type, key, and if it cancels the run 'cancel' or 'judged'; the number of the next
-- event, the size of the payloads, the number of dropped events, and the number of conditions that offer events.
local function inboxOf(serviceType, id)
  return key('run', serviceType, id, 'inbox')
end

local function openInbox(serviceType, id, conditions, judged)
  call('HSET', inboxOf(serviceType, id), 'receives', conditions, 'next', 0, 'bytes', 0, 'dropped', 0, 'judged', judged)
end

local function countJudged(serviceType, id, wait, change)
  if not wait.isJudged then return end
  if call('EXISTS', inboxOf(serviceType, id)) == 1 then
    call('HINCRBY', inboxOf(serviceType, id), 'judged', change)
  elseif change > 0 then
    openInbox(serviceType, id, '[]', change)
  end
end

function addWait(serviceType, id, name, wait)
  countJudged(serviceType, id, wait, 1)
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
  countJudged(serviceType, id, wait, -1)
  if wait.dueAt then
    call('ZREM', key('timers', serviceType), timerOf(serviceType, id, name))
    changedTypes[serviceType] = true
  end
  if wait.isApproval then call('ZREM', key('approvals', serviceType), id .. ':' .. name) end
  if wait.event then
    call('ZREM', key('waiting', wait.event.type), waiterOf(wait.event.key, serviceType, id, name))
  end
end

-- Makes a run ready that was suspended, or lets its delivery read what is new.
local function wake(serviceType, id, restoredTo)
  changesOf(serviceType)
  if restoredTo then
    enterGate(serviceType, id, call('HGET', restoredTo .. id, 'order'))
    return
  end
  local queue = call('HGET', key('run', serviceType, id), 'queue')
  local token = queue and call('GET', queue .. id .. ':lock')
  if token then notify(processOf(token), { serviceType = serviceType, id = id, recorded = true }) end
end

local function resolve(serviceType, id, name, wait, fields, output)
  local restoredTo = restoreRun(serviceType, id)
  removeWait(serviceType, id, name, wait)
  local shown = string.format('{%s,"since":%.0f,"at":%.0f', fields, wait.since, now)
  if output == '' then shown = shown .. '}' else shown, output = shown .. output[1] .. 'null}', output[2] .. '}' end
  appendEntry(serviceType, id, name, 0, shown, output)
  wake(serviceType, id, restoredTo)
end

local settle
function resolveByTime(serviceType, id, name)
  local wait = openWait(serviceType, id, name)
  if wait then resolve(serviceType, id, name, wait, '"by":"time"', '') end
  if wait and wait.isJudged then settle(serviceType, id) end
end

function keepEvents(serviceType, id, conditions)
  local judged = 0
  for _, event in ipairs(cjson.decode(conditions)) do
    if event[3] then judged = judged + 1 end
    awaitedTypes[event[1]] = true
    call('ZADD', key('waiting', event[1]), 0, waiterOf(event[2], serviceType, id, 'inbox'))
  end
  openInbox(serviceType, id, conditions, judged)
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
  call('SREM', key('keepers', event.id), keptMember(serviceType, id, name))
  changesOf(serviceType)
end

local function readKept(serviceType, id, name)
  return cjson.decode(call('HGET', inboxOf(serviceType, id), name))
end

-- Reports that a run dropped an event, to a process that handles its type: at most once per minute.
local function reportDropped(serviceType, id, type)
  local reported = key('run', serviceType, id, 'reported')
  if call('EXISTS', reported) == 1 then return end
  for _, process in ipairs(call('HKEYS', key('handlers', serviceType))) do
    if call('EXISTS', key('process', process)) == 1 then
      local dropped = tonumber(call('HGET', inboxOf(serviceType, id), 'dropped'))
      notify(process, { serviceType = serviceType, id = id, eventType = type, dropped = dropped })
      call('SET', reported, '', 'PX', constants.minuteMs)
      return
    end
  end
end

-- @param waits names of the waits that are to decide about the event; `nil` if the run receives it for all of its waits
local function keep(serviceType, id, envelope, payload, waits)
  local inbox, requestId = inboxOf(serviceType, id), requestIdIn(envelope.head)
  local name = string.format('kept %012d', call('HINCRBY', inbox, 'next', 1))
  call('HSET', inbox, name, cjson.encode({
    type = envelope.type, key = envelope.key, id = envelope.id, requestId = requestId, payload = payload,
    waits = waits,
  }))
  call('SADD', key('kept', requestId), keptMember(serviceType, id, name))
  call('SADD', key('keepers', envelope.id), keptMember(serviceType, id, name))
  local bytes, count = call('HINCRBY', inbox, 'bytes', #payload), call('HLEN', inbox) - constants.inboxFields
  if count > constants.maxKeptEvents or bytes > constants.maxKeptBytes then
    for index, oldest in ipairs(keptNames(serviceType, id)) do
      local isFull = count > constants.maxKeptEvents or bytes > constants.maxKeptBytes and count > 1
      if not isFull or index > constants.maxKeptEvents then break end
      local event = readKept(serviceType, id, oldest)
      removeKept(serviceType, id, oldest, event)
      call('HINCRBY', inbox, 'dropped', 1)
      reportDropped(serviceType, id, event.type)
      count, bytes = count - 1, bytes - #event.payload
    end
  end
  changesOf(serviceType)
end

local function eventFields(id)
  return '"by":"event","id":' .. cjson.encode(decodeName(string.sub(id, 3)))
end

local function matches(awaited, event)
  return awaited.type == event.type and (awaited.key == '' or awaited.key == event.key)
end

local function isIn(list, value)
  for _, each in ipairs(list or {}) do
    if each == value then return true end
  end
  return false
end

local function isBefore(a, b)
  return a.wait.since < b.wait.since or a.wait.since == b.wait.since and a.name < b.name
end

-- Returns the waits of a run that is not suspended which may take a kept event, the oldest first.
local function takersOf(waits, event)
  local takers = {}
  if event.isTaken then return takers end
  for _, each in ipairs(waits) do
    local isAsked = not event.waits or each.wait.isJudged and isIn(event.waits, each.name)
    if not each.isResolved and isAsked and matches(each.wait.event, event) and not isIn(event.refusedBy, each.name) then
      takers[#takers + 1] = each
    end
  end
  table.sort(takers, isBefore)
  return takers
end

local function conditionsOf(serviceType, id)
  local reasons, isReceived = {}, {}
  for _, event in ipairs(cjson.decode(call('HGET', inboxOf(serviceType, id), 'receives') or '[]')) do
    local condition = { type = event[1], key = event[2], isJudged = event[3] == 'judged', name = 'cancel ' .. event[1] }
    local list = event[3] and reasons or isReceived
    list[#list + 1] = condition
  end
  return reasons, isReceived
end

local function eventWaits(serviceType, id)
  local waits, fields = {}, call('HGETALL', key('run', serviceType, id, 'waits'))
  for index = 1, #fields, 2 do
    local wait = cjson.decode(fields[index + 1])
    if wait.event then waits[#waits + 1] = { name = fields[index], wait = wait } end
  end
  return waits
end

local function resolveByKept(serviceType, id, name, wait, event)
  resolve(serviceType, id, name, wait, eventFields(event.id), { ',"payload":', event.payload })
end

function settle(serviceType, id)
  local inbox, offers, asked = inboxOf(serviceType, id), {}, {}
  if call('HLEN', inbox) <= constants.inboxFields then return offers end
  local reasons = conditionsOf(serviceType, id)
  local waits, conditions = eventWaits(serviceType, id), #reasons
  for _, each in ipairs(waits) do conditions = conditions + (each.wait.isJudged and 1 or constants.maxKeptEvents) end
  local function offer(kept, event, condition, wait, isJudged)
    if asked[condition] then return end
    asked[condition] = true
    offers[#offers + 1] = { kept, wait, isJudged and '1' or '', event.type, event.id, event.payload }
  end
  for _, kept in ipairs(keptNames(serviceType, id)) do
    -- Each condition decides about an event, and no other wait may take one.
    if conditions > 0 and #offers == conditions then break end
    local event = readKept(serviceType, id, kept)
    local isReason = false
    for _, reason in ipairs(reasons) do
      if matches(reason, event) and not isIn(event.refusedBy, reason.name) then
        isReason = true
        offer(kept, event, reason.name, '', reason.isJudged)
      end
    end
    local takers = takersOf(waits, event)
    local first = takers[1]
    if event.waits then
      for _, taker in ipairs(takers) do offer(kept, event, taker.name, taker.name, true) end
    elseif first and first.wait.isJudged then
      offer(kept, event, first.name, first.name, true)
    elseif first then
      resolveByKept(serviceType, id, first.name, first.wait, event)
      first.isResolved, event.isTaken = true, true
      call('HSET', inbox, kept, cjson.encode(event))
    end
    if not isReason and (event.isTaken or event.waits and #takers == 0) then removeKept(serviceType, id, kept, event) end
  end
  return offers
end

function offersOf(serviceType, id)
  local judged = tonumber(call('HGET', inboxOf(serviceType, id), 'judged'))
  return judged and judged > 0 and settle(serviceType, id) or {}
end

function decide(serviceType, id, kept, condition, verdict, entry)
  local json = call('HGET', inboxOf(serviceType, id), kept)
  local wait = openWait(serviceType, id, condition)
  local isOpen = json and (wait or string.sub(condition, 1, 7) == 'cancel ')
  if isOpen then
    local event = cjson.decode(json)
    if verdict == 'failed' then
      removeWait(serviceType, id, condition, wait)
      appendEntry(serviceType, id, condition, 0, entry, '')
    elseif verdict == 'taken' and wait then
      resolveByKept(serviceType, id, condition, wait, event)
      if not event.waits then event.isTaken = true end
    end
    event.refusedBy = event.refusedBy or {}
    event.refusedBy[#event.refusedBy + 1] = condition
    call('HSET', inboxOf(serviceType, id), kept, cjson.encode(event))
  end
  local offers = settle(serviceType, id)
  -- The delivery reads the entries that follow.
  wake(serviceType, id)
  return isOpen and 'ok' or 'already', offers
end

function takeKept(serviceType, id)
  if #settle(serviceType, id) > 0 then wake(serviceType, id) end
end

function eraseKept(requestId)
  for _, member in ipairs(call('SMEMBERS', key('kept', requestId))) do
    local serviceType, id, name = string.match(member, '^(%S+) (%S+) (.*)$')
    removeKept(serviceType, id, name, readKept(serviceType, id, name))
    wake(serviceType, id)
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
  call('DEL', inbox, key('run', serviceType, id, 'reported'))
end

-- Passes an event to the waits of a run that it matches, or keeps it for them.
local function receive(run, envelope, payload)
  local serviceType, id = run.serviceType, run.id
  local isReceived, isReason, isCancelled = false, false, false
  if run.hasInbox then
    local reasons, receives = conditionsOf(serviceType, id)
    for _, reason in ipairs(reasons) do
      local isMatched = matches(reason, envelope)
      isReason, isCancelled = isReason or isMatched, isCancelled or isMatched and not reason.isJudged
    end
    for _, awaited in ipairs(receives) do isReceived = isReceived or matches(awaited, envelope) end
  end
  local function take(each)
    resolve(serviceType, id, each.name, each.wait, eventFields(envelope.id), { ',"payload":', payload })
  end
  table.sort(run.plain, isBefore)
  if not isReceived then
    for _, each in ipairs(run.plain) do take(each) end
  elseif #run.judged == 0 and not isReason and run.plain[1] then
    -- Of the waits of a run that receives the event, one takes it.
    take(run.plain[1])
    return
  end
  if not isReceived and not isReason and #run.judged == 0 then return end
  local waits = nil
  if not isReceived then
    waits = {}
    for index, each in ipairs(run.judged) do waits[index] = each.name end
  end
  keep(serviceType, id, envelope, payload, waits)
  if #run.judged > 0 or isReason then wake(serviceType, id, restoreRun(serviceType, id)) end
  -- It need not wait for its delay.
  if isCancelled and call('ZREM', key('delayed', serviceType), id) == 1 then
    changedTypes[serviceType] = true
    enterGate(serviceType, id, call('HGET', call('HGET', key('run', serviceType, id), 'queue') .. id, 'order'))
  end
end

-- Returns true if a wait or an inbox received the event.
function resolveByEvent(envelope)
  if not isAwaited(envelope.type) then return false end
  local waiters = waitersOf(envelope.type, '')
  if envelope.key ~= '' then
    for _, waiter in ipairs(waitersOf(envelope.type, envelope.key)) do waiters[#waiters + 1] = waiter end
  end
  if #waiters == 0 then return false end
  local isReceived, inboxes = false, {}
  local body = string.match(envelope.head, ',"body":(".*")$')
  local payload = cjson.decode('[' .. body .. ']')[1]
  local found = {}
  for _, waiter in ipairs(waiters) do
    local serviceType, number, name = string.match(waiter, '^%S* (%S+) (%S+) (.*)$')
    local run = serviceType .. ' ' .. number
    local id = runOf(serviceType, number)
    if id and name == 'inbox' then
      inboxes[#inboxes + 1] = { run = run, serviceType = serviceType, id = id }
    elseif id then
      found[#found + 1] = { run = run, serviceType = serviceType, id = id, name = name }
    end
  end
  local runs = {}
  for _, each in ipairs(found) do
    local wait = openWait(each.serviceType, each.id, each.name)
    each.wait = wait
    if wait and wait.dueAt and wait.dueAt <= now then
      resolveByTime(each.serviceType, each.id, each.name)
    elseif wait then
      isReceived = true
      local run = runs[each.run] or { serviceType = each.serviceType, id = each.id, plain = {}, judged = {} }
      runs[each.run] = run
      local list = wait.isJudged and run.judged or run.plain
      list[#list + 1] = each
    end
  end
  for _, inbox in ipairs(inboxes) do
    isReceived = true
    runs[inbox.run] = runs[inbox.run] or { serviceType = inbox.serviceType, id = inbox.id, plain = {}, judged = {} }
    runs[inbox.run].hasInbox = true
  end
  for _, run in pairs(runs) do receive(run, envelope, payload) end
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

local function dropOpenWaits(serviceType, id)
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

function dropWaits(serviceType, id)
  local list = dropOpenWaits(serviceType, id)
  dropInbox(serviceType, id)
  return list
end
end

--- @per-call
awaitedTypes = {}
