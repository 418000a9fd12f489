import { gates } from '../gate/gates.js';
import { runWaits } from '../runs/run-waits.js';
import { counters } from '../scripts/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { dedupe } from './dedupe.js';

// Events of one priority stand in order of acceptance: the sum of both is exact up to 2^53.
const orderSpan = 2 ** 44;

/**
 * Acceptance of events: `takeEnvelope()` reads what `envelopeArguments` writes, `accept(envelope)` passes it to the
 * gate of every service that subscribes to its type, `queueJob(route, envelope, id, depth)` to one of them.
 * `takeEmit()` reads what `emitArguments` writes, and `acceptEmit(emit)` deduplicates it: it returns the id of the earlier
 * event if it is a duplicate, a dash if no service subscribes to its type, else an empty string.
 */
export const acceptance: LuaFragment = new LuaFragment(
  `
local knownRoutes = {}
local function routesOf(type)
  if knownRoutes[type] == nil then
    local routes = {}
    for index, route in ipairs(call('HVALS', key('routes', type))) do routes[index] = cjson.decode(route) end
    knownRoutes[type] = routes
  end
  return knownRoutes[type]
end

local function takeEnvelope()
  return {
    id = take(), type = take(), sender = take(), key = take(), links = take(), parent = take(), head = take(),
    depth = takeNumber(), priority = takeNumber(), delayMs = takeNumber(),
  }
end

-- A copy of an event has the event as its cause, and neither key nor parent.
local function triggeredLinks(envelope)
  return ',"causeId":' .. cjson.encode(decodeName(string.sub(envelope.id, 3)))
end

local function queueJob(route, envelope, id, depth)
  local serviceType = route.serviceType
  local queue = queueKey(stateOf(serviceType).queue)
  local tail = (route.idSuffix and triggeredLinks(envelope) or envelope.links or '') .. ',"depth":' .. depth .. ',"replays":' .. (envelope.replays or 0) .. '}'
  local data = envelope.head .. tail
  local sequence = call('INCR', key('sequence'))
  local order = envelope.priority * ${orderSpan} + sequence
  call('HSET', queue .. id, 'name', route.type, 'data', data, 'opts', '{}', 'timestamp', now,
    'priority', envelope.priority, 'serviceType', serviceType, 'order', string.format('%.0f', order))
  if envelope.dedupe and not route.idSuffix then
    call('HSET', queue .. id, 'dedupe', envelope.dedupe)
    call('HINCRBY', envelope.dedupe, 'pending', 1)
  end
  local changed = changesOf(serviceType)
  changed.received = changed.received + 1
  if route.keepsRuns then
    local shown = string.match(envelope.head, '^(.*),"body":"') .. ',"body":"null"' .. tail
    call('HSET', key('run', serviceType, id), 'data', data, 'shown', shown, 'acceptedAt', now, 'attempt', 1, 'queue', queue)
    if (envelope.parent or '') ~= '' then call('HSET', key('run', serviceType, id), 'parent', envelope.parent) end
    call('ZADD', key('runs', serviceType), sequence, id)
  end
  if envelope.delayMs > 0 then enterLater(serviceType, id, envelope.delayMs) else enterGate(serviceType, id, order) end
end

local function accept(envelope)
  resolveByEvent(envelope)
  local isHandled = false
  for _, route in ipairs(routesOf(envelope.type)) do
    if route.idSuffix then
      queueJob(route, envelope, envelope.id .. route.idSuffix, envelope.depth + 1)
    else
      isHandled = true
      queueJob(route, envelope, envelope.id, envelope.depth)
    end
  end
  if isHandled then return true end
  local changed = changesOf(envelope.sender)
  changed.received = changed.received + 1
  changed.completed = changed.completed + 1
  return #routesOf(envelope.type) > 0
end

local function takeEmit()
  local envelope = takeEnvelope()
  local dedupeId, windowMs = take(), takeNumber()
  if dedupeId ~= '' then envelope.dedupe, envelope.windowMs = key('dedupe', envelope.type, dedupeId), windowMs end
  return envelope
end

local function countDuplicate(envelope)
  local isHandled = false
  for _, route in ipairs(routesOf(envelope.type)) do
    if not route.idSuffix then
      isHandled = true
      local changed = changesOf(route.serviceType)
      changed.deduplicated = changed.deduplicated + 1
    end
  end
  if not isHandled then
    local changed = changesOf(envelope.sender)
    changed.deduplicated = changed.deduplicated + 1
  end
end

local function acceptEmit(envelope)
  local dedupe = envelope.dedupe
  local earlier = dedupe and call('HGET', dedupe, 'id')
  if earlier then
    countDuplicate(envelope)
    return earlier
  end
  if dedupe then
    call('HSET', dedupe, 'id', envelope.id, 'until', now + math.ceil(envelope.windowMs), 'pending', 0)
  end
  local receipt = accept(envelope) and '' or '-'
  if dedupe and call('HGET', dedupe, 'pending') == '0' then forgetDedupe(dedupe) end
  return receipt
end
`,
  [counters, dedupe, gates, runWaits],
);
