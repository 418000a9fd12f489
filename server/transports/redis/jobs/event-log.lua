--- @include "../connection/prelude.lua"

-- Index of events, and the newest ended ones. Each event that is pending or retained has its service types in the hashes of
-- places, and if its request has another id than the event, a member in the index of requests: `indexEvent(...)` adds
-- both, `unindexEvent(...)` removes them; ended runs and dead letters keep them as long as they are retained.
-- `moveRequest(...)` replaces the request of an event. `placesOf(id)` returns the service types that have an event.
-- `logEnd(...)` retains an ended event that has no run record; `forgetEnd(...)` forgets an ended event that is accepted
-- again.
-- `endIndexingAt(...)` notes the time at which Redis deletes a run or a dead letter, `endIndexing(serviceType)` removes
-- those whose time has come, and `forgetIndexEnd(...)` forgets that time for an event that is replayed. `writeLog()` writes all that, once per script.
--
-- The record of an ended event is a text of lines: status, request id and cause id as JSON, times of acceptance, start
-- and end, attempt, error as JSON, step, and a line of JSON per earlier attempt. A time that is unknown is empty.
--
-- `deadLetterKey(serviceType, id)`, `deadLetterKeys(serviceType, id)`, `deleteDeadLetter(serviceType, id)`,
-- `countDeadLetters(serviceType)`. Redis deletes a dead letter with a maximum age; `forgetExpired(serviceType)` deletes
-- what names it.

local indexed, unindexed, logged
-- Service types whose events no other service receives.
local lone

-- As JSON: Lua does not decode every string that JavaScript encodes.
local function requestIdIn(data)
  return string.match(data or '', '^{"requestId":(".-"),"')
end

local function causeIdIn(data)
  return string.match(data or '', ',"causeId":(".-")[,}]') or ''
end

-- In a block of its own: a script has at most 200 local names.
local indexEvent, unindexEvent, moveRequest, endIndexingAt, forgetIndexEnd, endIndexing, elementOf
local hasDeadLetter, hasRetainedRun, isLogged, placesOf
do
  -- Small hashes take a third of the memory of one large one, and a part of an id half of that of the id. Ids are UUIDs, or
  -- look like one; the digits of others are those of a hash.
  local function slotOf(id)
    local slot = #id == 38 and tonumber(string.sub(id, 35), 16)
    if slot then return key('places', slot % constants.placeSlots), string.sub(id, 3, 16) end
    local hash = redis.sha1hex(id)
    return key('places', tonumber(string.sub(hash, 37), 16) % constants.placeSlots), string.sub(hash, 1, 14)
  end

  local function hasPlace(places, serviceType)
    return string.find(',' .. places .. ',', ',' .. serviceType .. ',', 1, true) ~= nil
  end

  function placesOf(id)
    local places = {}
    for place in string.gmatch(call('HGET', slotOf(id)) or '', '[^,]+') do places[#places + 1] = place end
    return places
  end

  -- An event from outside often has its own id as that of its request, and is found by it.
  local function isIndexed(id, requestId)
    return requestId and requestId ~= '"' .. string.sub(id, 3) .. '"'
  end

  local function indexMember(serviceType, id, requestId)
    return requestId .. ' ' .. serviceType .. ' ' .. id
  end

  -- Most events have one.
  local function addPlace(serviceType, id)
    local slot, field = slotOf(id)
    if call('HSETNX', slot, field, serviceType) == 1 then return end
    local places = call('HGET', slot, field)
    if not hasPlace(places, serviceType) then call('HSET', slot, field, places .. ',' .. serviceType) end
  end

  local function isOfOneService(serviceType)
    if lone[serviceType] == nil then lone[serviceType] = call('HLEN', key('routes', typeOf(serviceType))) <= 1 end
    return lone[serviceType]
  end

  local function removePlace(serviceType, id)
    local slot, field = slotOf(id)
    if isOfOneService(serviceType) then
      call('HDEL', slot, field)
      return
    end
    local places = call('HGET', slot, field)
    if places == serviceType then
      call('HDEL', slot, field)
    elseif places and hasPlace(places, serviceType) then
      local left = {}
      for place in string.gmatch(places, '[^,]+') do
        if place ~= serviceType then left[#left + 1] = place end
      end
      call('HSET', slot, field, table.concat(left, ','))
    end
  end

  local function addRequest(serviceType, id, requestId)
    if not isIndexed(id, requestId) then return end
    indexed[#indexed + 1] = 0
    indexed[#indexed + 1] = indexMember(serviceType, id, requestId)
  end

  local function removeRequest(serviceType, id, requestId)
    if isIndexed(id, requestId) then unindexed[#unindexed + 1] = indexMember(serviceType, id, requestId) end
  end

  function indexEvent(serviceType, id, requestId)
    addPlace(serviceType, id)
    addRequest(serviceType, id, requestId)
  end

  function unindexEvent(serviceType, id, requestId)
    removePlace(serviceType, id)
    removeRequest(serviceType, id, requestId)
  end

  function moveRequest(serviceType, id, from, to)
    if from == to then return end
    removeRequest(serviceType, id, from)
    addRequest(serviceType, id, to)
  end

  local function endMember(serviceType, id, requestId)
    return isIndexed(id, requestId) and indexMember(serviceType, id, requestId) or id
  end

  -- Redis will delete what names the event.
  function endIndexingAt(serviceType, id, requestId, at)
    call('ZADD', key('index-ends', serviceType), 'GT', at, endMember(serviceType, id, requestId))
  end

  function forgetIndexEnd(serviceType, id, requestId)
    call('ZREM', key('index-ends', serviceType), endMember(serviceType, id, requestId))
  end

  function isLogged(serviceType, id)
    for _, outcome in ipairs((logged[serviceType] or {}).failed or {}) do
      if outcome.id == id then return true end
    end
    return call('HEXISTS', key('records', serviceType), id) == 1
  end

  function hasDeadLetter(serviceType, id)
    return call('EXISTS', key('dead-letter', serviceOf(serviceType), id)) == 1
  end

  -- The end of a run stays readable after its eviction for those who wait for it.
  function hasRetainedRun(serviceType, id)
    local run = key('run', serviceType, id)
    if call('EXISTS', run) == 0 then return false end
    local untilMs = tonumber(call('HGET', run, 'until'))
    return not untilMs or untilMs > now
  end

  -- Removes what Redis has deleted by its age from the index.
  function endIndexing(serviceType)
    local ends = key('index-ends', serviceType)
    for _, member in ipairs(call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, constants.endedAtOnce)) do
      local id = string.match(member, '(%S+)$')
      call('ZREM', ends, member)
      local isRetained = isLogged(serviceType, id) or hasDeadLetter(serviceType, id) or hasRetainedRun(serviceType, id)
      if not isRetained then
        removePlace(serviceType, id)
        if member ~= id then unindexed[#unindexed + 1] = member end
      end
    end
  end

  -- An element of a list is the id of an event, and that of its request if the event is indexed.
  function elementOf(id, requestId)
    return isIndexed(id, requestId) and id .. ' ' .. requestId or id
  end
end

-- Returns the indexed events of a request as service types, job ids and members.
local function indexedEvents(requestId, limit)
  local events = {}
  local members = call('ZRANGEBYLEX', key('requests'), '[' .. requestId .. ' ', '(' .. requestId .. '!', 'LIMIT', 0, limit)
  for index, member in ipairs(members) do
    local serviceType, id = string.match(string.sub(member, #requestId + 2), '^(%S+) (.*)$')
    events[index] = { serviceType, id, member }
  end
  return events
end

local function endedRecord(status, requestId, causeId, acceptedAt, startedAt, endedAt, attempt, error, step, attempts)
  return status .. '\n' .. requestId .. '\n' .. causeId .. '\n' .. acceptedAt .. '\n' .. startedAt .. '\n' .. endedAt .. '\n'
    .. attempt .. '\n' .. error .. '\n' .. step .. '\n' .. attempts
end

local function logEnd(serviceType, id, outcome)
  local log = logged[serviceType] or {}
  logged[serviceType] = log
  local status = outcome.status == 'failed' and not outcome.isCancelled and 'failed' or 'completed'
  local list = log[status] or {}
  log[status] = list
  outcome.id = id
  list[#list + 1] = outcome
end

local function forgetEnd(serviceType, id)
  local records = key('records', serviceType)
  local requestId = string.match(call('HGET', records, id) or '', '^%l+\n([^\n]*)\n')
  if not requestId then return end
  call('HDEL', records, id)
  call('LREM', key('recent', serviceType, 'failed'), 1, elementOf(id, requestId))
end

-- In a block of its own: a script has at most 200 local names.
local writeLog
do
  local function recordOf(outcome)
    local isFailed = outcome.status == 'failed'
    local startedAt = outcome.durationMs and not outcome.isCancelled and string.format('%.0f', now - outcome.durationMs) or ''
    local status = outcome.isCancelled and 'cancelled' or outcome.isFiltered and 'filtered' or outcome.status
    return endedRecord(status, outcome.requestId, outcome.causeId,
      outcome.acceptedAt or '', startedAt, nowText, outcome.attempt, isFailed and outcome.value or '', outcome.step or '',
      outcome.attempts or '')
  end

  local function unindexEnded(serviceType, id, requestId, status)
    if status ~= 'failed' or not hasDeadLetter(serviceType, id) then unindexEvent(serviceType, id, requestId) end
  end

  local function evictEnded(serviceType, status, count)
    local ids = call('RPOP', key('recent', serviceType, status), count)
    for place, element in ipairs(ids) do
      local id, requestId = string.match(element, '^(%S+) ?(.*)$')
      ids[place] = id
      unindexEnded(serviceType, id, requestId ~= '' and requestId, status)
    end
    call('HDEL', key('records', serviceType), unpack(ids))
  end

  local function writeEnded(serviceType, status, outcomes)
    local first = math.max(1, #outcomes - constants.retainedRecent + 1)
    for place = 1, first - 1 do unindexEnded(serviceType, outcomes[place].id, outcomes[place].requestId, status) end
    local records, elements = {}, {}
    for place = first, #outcomes do
      local outcome = outcomes[place]
      records[#records + 1] = outcome.id
      records[#records + 1] = recordOf(outcome)
      elements[#elements + 1] = elementOf(outcome.id, outcome.requestId)
    end
    call('HSET', key('records', serviceType), unpack(records))
    local excess = call('LPUSH', key('recent', serviceType, status), unpack(elements)) - constants.retainedRecent
    if excess >= constants.evictedAtOnce then evictEnded(serviceType, status, excess) end
  end

  -- Lua passes a limited number of values to a function.
  local function callInParts(command, name, values)
    for first = 1, #values, constants.valuesAtOnce do
      call(command, name, unpack(values, first, math.min(first + constants.valuesAtOnce - 1, #values)))
    end
  end

  function writeLog()
    for serviceType, log in pairs(logged) do
      for status, outcomes in pairs(log) do writeEnded(serviceType, status, outcomes) end
    end
    logged = {}
    if #indexed > 0 then
      callInParts('ZADD', key('requests'), indexed)
      indexed = {}
    end
    if #unindexed > 0 then
      callInParts('ZREM', key('requests'), unindexed)
      unindexed = {}
    end
  end
end

local function deadLetterKey(serviceType, id)
  return key('dead-letter', serviceOf(serviceType), id)
end
local function deadLetterKeys(serviceType, id)
  local deadLetter = deadLetterKey(serviceType, id)
  return { deadLetter, deadLetter .. ':order', deadLetter .. ':checkpoints', deadLetter .. ':outputs' }
end

local function deleteDeadLetter(serviceType, id)
  -- A record of the event keeps it in the index.
  if not isLogged(serviceType, id) and not hasRetainedRun(serviceType, id) then
    unindexEvent(serviceType, id, requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')))
  end
  call('DEL', unpack(deadLetterKeys(serviceType, id)))
  call('ZREM', key('dead-letters', serviceType), id)
  call('ZREM', key('expiring', serviceType), id)
end

local function countDeadLetters(serviceType)
  return call('ZCARD', key('dead-letters', serviceType)) - call('ZCOUNT', key('expiring', serviceType), '-inf', now)
end

local function forgetExpired(serviceType)
  local expired = call('ZRANGEBYSCORE', key('expiring', serviceType), '-inf', now, 'LIMIT', 0, constants.maxEvictedDeadLetters)
  for _, id in ipairs(expired) do deleteDeadLetter(serviceType, id) end
  endIndexing(serviceType)
end

--- @per-call
indexed, unindexed, logged, lone = {}, {}, {}, {}
