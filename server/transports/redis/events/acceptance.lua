--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-records.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./event-ends.lua"

-- Acceptance of events: `takeEnvelope()` reads what `envelopeArguments` writes, and `queueJob(route, envelope, id, depth)`
-- passes it to the gate of one service. `acceptTriggered(route, envelope)` accepts a run that an event triggers. `takeEmit()` reads what `emitArguments` writes, and `acceptEmit(emit)`
-- deduplicates it and passes it to the service that it names, or else to every one that subscribes to its type: it returns the id of the earlier event if it
-- is a duplicate or was debounced, `constants.unsubscribedReply` if nobody receives it, else an empty string.
-- `cancelChildren(waits, outcome, reason)` cancels the child runs that a run waited for, with the error and the durations of
-- an outcome. Processes that run one of them receive the reason, an error as JSON.
--
-- `dataLoss(epoch)` returns `'lost'` if Redis has lost its data since the epoch began, and `'recovering'` while services
-- register again; nothing if events can be accepted.

local knownRoutes

local function takeEnvelope()
  return {
    id = take(), type = take(), sender = take(), key = take(), links = take(), parent = take(), head = take(),
    depth = take(), priority = take(), delayMs = takeNumber(),
  }
end

local function takeEmit()
  local envelope = takeEnvelope()
  local dedupeId, windowMs, addressee = take(), takeNumber(), take()
  -- Those that an earlier version stored have none.
  if (addressee or '') ~= '' then envelope.addressee = addressee end
  envelope.receives = take()
  if dedupeId ~= '' then envelope.dedupe, envelope.windowMs = key('dedupe', envelope.type, dedupeId), windowMs end
  local overlap = take() or ''
  if overlap ~= '' and envelope.key ~= '' then envelope.overlap = key('overlap', envelope.type, envelope.key) end
  -- The error of the events that it replaces.
  if overlap ~= 'skip' and envelope.overlap then envelope.replaces = overlap end
  local recorded = take() or ''
  if recorded ~= '' then envelope.recorded = cjson.decode(recorded) end
  return envelope
end

-- In a block of its own: a script has at most 200 local names.
local queueJob, acceptTriggered, acceptEmit, cancelChildren
do
  local function cancel(serviceType, id, outcome, reason, followUps)
    local isRun, queue, attempt = hasRun(serviceType, id), nil, nil
    if isRun then
      local status
      restoreRun(serviceType, id)
      queue, status, attempt = unpack(call('HMGET', key('run', serviceType, id), 'queue', 'status', 'attempt'))
      if not queue or status then return end
    else
      queue = jobQueue(serviceType, id)
      if not queue then return end
      attempt = (call('HGET', queue .. id, 'atm') or 0) + 1
    end
    local waits = isRun and dropWaits(serviceType, id) or {}
    interrupt(queue, id, serviceType, reason)
    changesOf(serviceType)
    endJob(queue, id, serviceType, isRun, {
      status = 'failed', isCancelled = true, value = outcome.value, bucket = outcome.bucket,
      durationMs = outcome.durationMs, attempt = tonumber(attempt),
    })
    for _, stored in ipairs(followUps) do acceptEmit(readFrom(stored, takeEmit)) end
    cancelChildren(waits, outcome, reason)
  end

  function cancelChildren(waits, outcome, reason)
    for _, wait in ipairs(waits) do
      if wait.child then
        cancel(wait.child.serviceType, wait.child.id, outcome, reason, cjson.decode(wait.onCancel or '[]'))
      end
    end
  end

  -- Cancels the events of a key with an overlap, in every service.
  local function cancelReplaced(envelope)
    local first, others = unpack(call('HMGET', envelope.overlap, 'id', 'others'))
    if not first then return end
    for id in string.gmatch(first .. ' ' .. (others or ''), '%S+') do
      for _, serviceType in ipairs(placesOf(id)) do
        if typeOf(serviceType) == envelope.type then
          cancel(serviceType, id, { value = envelope.replaces, durationMs = 0 }, envelope.replaces, {})
        end
      end
    end
  end

  -- Debounce windows: the event of a window is delayed until no other one of its key arrives. Its job notes the key in
  -- `window` until it is due or removed.
  --
  -- - `windowEnd(route, delayMs, openedAt)` returns the time at which a window closes
  -- - `heldUntil(dueAt, openedAt, envelope)` returns the envelope with the delay until the window closes
  -- - `openWindow(route, keyName, job, id)` opens one for a stored job
  -- - `findWindow(route, keyName)` returns the event in the window of a key, the prefix of its queue, and the time at
  --   which the window opened; nothing if there is none

  local function windowEnd(route, delayMs, openedAt)
    local ms, maxMs = route.debounce.ms, route.debounce.maxMs
    local closesAt = now + math.max(ms, delayMs)
    return maxMs and math.min(closesAt, openedAt + maxMs) or closesAt
  end

  local function heldUntil(dueAt, openedAt, envelope)
    local held = {}
    for field, value in pairs(envelope) do held[field] = value end
    held.head = string.gsub(envelope.head, '"delayMs":[^,]+', string.format('"delayMs":%.0f', dueAt - openedAt), 1)
    return held
  end

  local function openWindow(route, keyName, job, id)
    call('HSET', job, 'window', keyName)
    call('HSET', key('windows', route.serviceType), keyName, string.format('%.0f %s', now, id))
  end

  local function findWindow(route, keyName)
    local windows = key('windows', route.serviceType)
    local window = call('HGET', windows, keyName)
    if not window then return nil end
    local openedAt, id = string.match(window, '^(%d+) (.*)$')
    local queue = jobQueue(route.serviceType, id)
    if queue and call('ZSCORE', key('delayed', route.serviceType), id) then return id, queue, tonumber(openedAt) end
    call('HDEL', windows, keyName)
    return nil
  end

  -- The route of a run's service, whose first process may have yet to start.
  local function routeOfRun(serviceType)
    local type = typeOf(serviceType)
    local stored = call('HGET', key('routes', type), serviceType)
    local route = stored and cjson.decode(stored) or { serviceType = serviceType, type = decodeName(type) }
    route.retainsRuns = true
    if not stored then
      subscribe(serviceType, route)
      knownRoutes[type] = nil
    end
    return route
  end

  local function routesOfType(type)
    if knownRoutes[type] == nil then
      local routes = {}
      for index, route in ipairs(call('HVALS', key('routes', type))) do routes[index] = cjson.decode(route) end
      knownRoutes[type] = routes
    end
    return knownRoutes[type]
  end

  local function routesOf(envelope)
    return envelope.addressee and { routeOfRun(envelope.addressee) } or routesOfType(envelope.type)
  end

  -- As `triggeredId` of derived-ids.ts.
  local function triggeredId(serviceType, causeId, type)
    local place = 'trigger:' .. decodeName(typeOf(serviceType)) .. '\31' .. decodeName(type)
    local hex = redis.sha1hex(decodeName(serviceOf(serviceType)) .. '/' .. causeId .. '/' .. place)
    local groups = { hex:sub(1, 8), hex:sub(9, 12), hex:sub(13, 16), hex:sub(17, 20), hex:sub(21, 32) }
    return 'e-' .. table.concat(groups, '-')
  end

  -- A triggered event has the key of its cause, and no parent.
  local function triggeredLinks(envelope)
    local key = envelope.key == '' and '' or ',"key":' .. cjson.encode(decodeName(string.sub(envelope.key, 2)))
    return key .. ',"causeId":' .. cjson.encode(decodeName(string.sub(envelope.id, 3)))
  end

  local function tailOf(route, envelope, depth)
    local links = route.isTriggered and triggeredLinks(envelope) or envelope.links or ''
    return links .. ',"depth":' .. depth .. ',"replays":' .. (envelope.replays or 0) .. '}'
  end

  -- The data without the body, for readers that do not need it.
  local function shownOf(envelope, tail)
    return string.match(envelope.head, '^(.*),"body":"') .. ',"body":"null"' .. tail
  end

  local function holdDedupe(job, field, dedupe)
    if not dedupe then return end
    call('HSET', job, field, dedupe)
    call('HINCRBY', dedupe, 'pending', 1)
  end

  function queueJob(route, envelope, id, depth, dueAt)
    local serviceType = route.serviceType
    local queue = queueKey(stateOf(serviceType).queue)
    local tail = tailOf(route, envelope, depth)
    local data = envelope.head .. tail
    local keyName = envelope.key
    local sequence = call('INCR', key('sequence'))
    local order = string.format('%.0f', envelope.priority * constants.orderSpan + sequence)
    call('HSET', queue .. id, 'name', route.type, 'data', data, 'opts', '{}', 'timestamp', nowText,
      'priority', envelope.priority, 'serviceType', serviceType, 'order', order)
    if keyName ~= '' then call('HSET', queue .. id, 'key', keyName) end
    if not route.isTriggered then
      holdDedupe(queue .. id, 'dedupe', envelope.dedupe)
      holdDedupe(queue .. id, 'overlap', envelope.overlap)
    end
    if route.isBacklog then call('ZADD', key('backlog', serviceType), sequence, id) end
    countOne(serviceType, 'r')
    indexEvent(serviceType, id, requestIdIn(envelope.head))
    if route.retainsRuns then
      local run = key('run', serviceType, id)
      addRun(serviceType, id, queue, sequence, { data = data, shown = shownOf(envelope, tail), acceptedAt = now, attempt = 1 })
      if not route.isTriggered and (envelope.parent or '') ~= '' then call('HSET', run, 'parent', envelope.parent) end
      if (envelope.receives or '') ~= '' then
        -- For a replay.
        call('HSET', queue .. id, 'receives', envelope.receives)
        keepEvents(serviceType, id, envelope.receives)
      end
      for _, entry in ipairs(envelope.recorded or {}) do
        appendEntry(serviceType, id, entry[1], '0', entry[2], entry[3])
      end
    end
    if dueAt then
      openWindow(route, keyName, queue .. id, id)
      enterLater(serviceType, id, dueAt - now)
    elseif envelope.delayMs > 0 then
      enterLater(serviceType, id, envelope.delayMs)
    else
      enterGate(serviceType, id, order)
    end
  end

  -- The job keeps its id, its place in the order of acceptance, and its deduplication id.
  local function replaceJob(route, envelope, depth, id, queue)
    local serviceType = route.serviceType
    local tail = tailOf(route, envelope, depth)
    local data = envelope.head .. tail
    local order = call('HGET', queue .. id, 'order') % constants.orderSpan + envelope.priority * constants.orderSpan
    moveRequest(serviceType, id, requestIdIn(call('HGET', queue .. id, 'data')), requestIdIn(data))
    call('HSET', queue .. id, 'data', data, 'priority', envelope.priority, 'order', string.format('%.0f', order))
    local run = key('run', serviceType, id)
    if call('EXISTS', run) == 1 then call('HSET', run, 'data', data, 'shown', shownOf(envelope, tail)) end
    countOne(serviceType, 'deduplicated')
  end

  -- Returns the id of the event that waits in its debounce window if this one replaced its payload.
  local function acceptFor(route, envelope, id, depth)
    if not route.debounce or envelope.recorded then
      queueJob(route, envelope, id, depth)
      return nil
    end
    local waiting, queue, openedAt = findWindow(route, envelope.key)
    local dueAt = windowEnd(route, envelope.delayMs, openedAt or now)
    local held = heldUntil(dueAt, openedAt or now, envelope)
    if not waiting then
      queueJob(route, held, id, depth, dueAt)
      return nil
    end
    replaceJob(route, held, depth, waiting, queue)
    enterLater(route.serviceType, waiting, dueAt - now)
    return waiting
  end

  function acceptTriggered(route, envelope)
    acceptFor(route, envelope, triggeredId(route.serviceType, decodeName(string.sub(envelope.id, 3)), envelope.type), envelope.depth + 1)
  end

  local function accept(envelope)
    local isHandled, isAccepted, waiting = false, false, nil
    for _, route in ipairs(routesOf(envelope)) do
      if route.isTriggered then
        isAccepted = true
        acceptTriggered(route, envelope)
      else
        isHandled = true
        local replaced = acceptFor(route, envelope, envelope.id, envelope.depth)
        if replaced then waiting = waiting or replaced else isAccepted = true end
      end
    end
    if isHandled then return not isAccepted and waiting or nil end
    countOne(envelope.sender, 'r')
    countOne(envelope.sender, 'c')
    return nil
  end

  local function countDuplicate(envelope)
    local isHandled = false
    for _, route in ipairs(routesOf(envelope)) do
      if not route.isTriggered then
        isHandled = true
        countOne(route.serviceType, 'deduplicated')
      end
    end
    if not isHandled then countOne(envelope.sender, 'deduplicated') end
  end

  local function remember(dedupe, id, windowMs)
    if dedupe then call('HSET', dedupe, 'id', id, 'until', now + math.ceil(windowMs), 'pending', 0) end
  end

  local function forgetUnheld(dedupe)
    if dedupe and call('HGET', dedupe, 'pending') == '0' then forgetDedupe(dedupe) end
  end

  function acceptEmit(envelope)
    local dedupe, overlap = envelope.dedupe, envelope.overlap
    local earlier = dedupe and call('HGET', dedupe, 'id')
    if not earlier and overlap and not envelope.replaces then earlier = call('HGET', overlap, 'id') end
    if earlier then
      countDuplicate(envelope)
      return earlier
    end
    if envelope.replaces then cancelReplaced(envelope) end
    local isReceived = not envelope.recorded and resolveByEvent(envelope) or #routesOf(envelope) > 0
    -- An event that nobody received may be repeated: its services may start later.
    if not isReceived then dedupe, overlap = nil, nil end
    remember(dedupe, envelope.id, envelope.windowMs)
    remember(overlap, envelope.id, 0)
    local waiting = accept(envelope)
    forgetUnheld(dedupe)
    forgetUnheld(overlap)
    return waiting or isReceived and '' or constants.unsubscribedReply
  end
end

local function dataLoss(epoch)
  if epoch ~= '' and call('HGET', key('epoch'), 'id') ~= epoch then return 'lost' end
  return call('EXISTS', key('recovering')) == 1 and 'recovering' or nil
end

--- @per-call
knownRoutes = {}
