import { counters } from '../scripts/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { queueMoves } from '../scripts/queue-moves.js';

/**
 * Acceptance of events: `takeEnvelope()` reads what `envelopeArguments` writes, `accept(envelope)` queues it for every
 * service that subscribes to its type, `queueJob(route, envelope, id, depth)` for one of them.
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
  local queue = queueKey(route.queue)
  local data = envelope.head .. ',"depth":' .. depth .. ',"replays":' .. (envelope.replays or 0) .. '}'
  call('HSET', queue .. id, 'name', route.type, 'data', data, 'opts', '{}', 'timestamp', now,
    'delay', envelope.delayMs, 'priority', envelope.priority, 'serviceType', route.serviceType)
  local changed = changesOf(route.serviceType)
  changed.received = changed.received + 1
  if route.keepsRuns then
    call('HSET', key('run', route.serviceType, id), 'data', data, 'acceptedAt', now, 'attempt', 1, 'queue', queue)
    call('ZADD', key('runs', route.serviceType), call('INCR', key('sequence')), id)
  end
  if envelope.delayMs > 0 then enqueueLater(queue, id, envelope.delayMs) else enqueue(queue, id, envelope.priority) end
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
  if isHandled then return end
  local changed = changesOf(envelope.sender)
  changed.received = changed.received + 1
  changed.completed = changed.completed + 1
end
`,
  [counters, queueMoves],
);
