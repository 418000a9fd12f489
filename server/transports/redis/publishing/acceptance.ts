import { gates } from '../gate/gates.js';
import { counters } from '../scripts/counters.js';
import { orderSpan } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';

/**
 * Acceptance of events: `takeEnvelope()` reads what `envelopeArguments` writes, `accept(envelope)` passes it to the
 * gate of every service that subscribes to its type, `queueJob(route, envelope, id, depth)` to one of them.
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
    id = take(), type = take(), sender = take(), head = take(),
    depth = takeNumber(), priority = takeNumber(), delayMs = takeNumber(),
  }
end

local function queueJob(route, envelope, id, depth)
  local serviceType = route.serviceType
  local queue = queueKey(stateOf(serviceType).queue)
  local tail = ',"depth":' .. depth .. ',"replays":' .. (envelope.replays or 0) .. '}'
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
    call('ZADD', key('runs', serviceType), sequence, id)
  end
  if envelope.delayMs > 0 then enterLater(serviceType, id, envelope.delayMs) else enterGate(serviceType, id, order) end
end

local function accept(envelope)
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
`,
  [counters, gates],
);
