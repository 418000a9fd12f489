--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-records.lua"
--- @include "../runs/run-waits.lua"

-- Deduplication ids. One is remembered for its window, and until its event has ended in every service.
-- `forgetDedupe(dedupe)` ends the memory, or lets it end with the window; `endDedupe(job)` counts an end.

local function forgetDedupe(dedupe)
  local untilMs = tonumber(call('HGET', dedupe, 'until'))
  if untilMs > now then call('PEXPIREAT', dedupe, untilMs) else call('DEL', dedupe) end
end

local function endDedupe(job)
  local dedupe = call('HGET', job, 'dedupe')
  if not dedupe or call('EXISTS', dedupe) == 0 then return end
  if call('HINCRBY', dedupe, 'pending', -1) <= 0 then forgetDedupe(dedupe) end
end

-- Acceptance of events: `takeEnvelope()` reads what `envelopeArguments` writes, and `queueJob(route, envelope, id, depth)`
-- passes it to the gate of one service. `takeEmit()` reads what `emitArguments` writes, and `acceptEmit(emit)`
-- deduplicates it and passes it to the service that it names, or else to every one that subscribes to its type: it returns the id of the earlier event if it
-- is a duplicate or was debounced, `constants.unsubscribedReply` if no service subscribes to its type, else an empty string.

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
  return envelope
end

-- In a block of its own: a script has at most 200 local names.
local queueJob, acceptEmit
do
  -- Debounce windows: the event of a window is delayed until no other one of its key arrives. Its job notes the key in
  -- `window` until it is due or removed.
  --
  -- - `windowEnd(route, delayMs, openedAt)` returns the time at which a window closes
  -- - `openWindow(route, keyName, job, id)` opens one for a stored job
  -- - `findWindow(route, keyName)` returns the event in the window of a key, the prefix of its queue, and the time at
  --   which the window opened; nothing if there is none

  local function windowEnd(route, delayMs, openedAt)
    local ms, maxMs = route.debounce.ms, route.debounce.maxMs
    local closesAt = now + math.max(ms, delayMs)
    return maxMs and math.min(closesAt, openedAt + maxMs) or closesAt
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

  -- As `triggeredId` of delivery.ts.
  local function triggeredId(serviceType, causeId)
    local place = 'trigger:' .. decodeName(typeOf(serviceType))
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
    if envelope.dedupe and not route.isTriggered then
      call('HSET', queue .. id, 'dedupe', envelope.dedupe)
      call('HINCRBY', envelope.dedupe, 'pending', 1)
    end
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
    if not route.debounce then
      queueJob(route, envelope, id, depth)
      return nil
    end
    local waiting, queue, openedAt = findWindow(route, envelope.key)
    local dueAt = windowEnd(route, envelope.delayMs, openedAt or now)
    if not waiting then
      queueJob(route, envelope, id, depth, dueAt)
      return nil
    end
    replaceJob(route, envelope, depth, waiting, queue)
    enterLater(route.serviceType, waiting, dueAt - now)
    return waiting
  end

  local function accept(envelope)
    local isHandled, isAccepted, waiting = false, false, nil
    for _, route in ipairs(routesOf(envelope)) do
      if route.isTriggered then
        isAccepted = true
        acceptFor(route, envelope, triggeredId(route.serviceType, decodeName(string.sub(envelope.id, 3))), envelope.depth + 1)
      else
        isHandled = true
        local replaced = acceptFor(route, envelope, envelope.id, envelope.depth)
        if replaced then waiting = waiting or replaced else isAccepted = true end
      end
    end
    if isHandled then return true, not isAccepted and waiting or nil end
    countOne(envelope.sender, 'r')
    countOne(envelope.sender, 'c')
    return #routesOf(envelope) > 0
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

  function acceptEmit(envelope)
    local dedupe = envelope.dedupe
    local earlier = dedupe and call('HGET', dedupe, 'id')
    if earlier then
      countDuplicate(envelope)
      return earlier
    end
    -- An event that nobody received may be repeated: its services may start later.
    if not resolveByEvent(envelope) and #routesOf(envelope) == 0 then dedupe = nil end
    if dedupe then
      call('HSET', dedupe, 'id', envelope.id, 'until', now + math.ceil(envelope.windowMs), 'pending', 0)
    end
    local isSubscribed, waiting = accept(envelope)
    if dedupe and call('HGET', dedupe, 'pending') == '0' then forgetDedupe(dedupe) end
    return waiting or isSubscribed and '' or constants.unsubscribedReply
  end
end

--- @per-call
knownRoutes = {}
