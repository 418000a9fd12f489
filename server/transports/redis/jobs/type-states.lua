--- @include "../connection/prelude.lua"

-- `stateOf(serviceType)` returns the state in which the last rebalance left a service type; a script reads it once.
-- `jobQueue(serviceType, id)` returns the prefix of the keys of a job that is not leased: it stays where it was
-- accepted until a worker of another queue takes it.

local states
local function stateOf(serviceType)
  local state = states[serviceType]
  if state then return state end
  local fields = call('HMGET', key('dispatch', serviceType), 'queue', 'isOpen', 'concurrency', 'max', 'perMs', 'taken', 'turn',
    'hasTimers', 'keys', 'hadKeys', 'hadRuns', 'hasNewer', 'isPaused', 'startsFrom')
  state = {
    queue = fields[1] or serviceType,
    isOpen = fields[2] == '1' and not fields[13],
    isPaused = fields[13] == '1',
    concurrency = fields[3] and tonumber(fields[3]),
    max = fields[4] and tonumber(fields[4]),
    perMs = fields[5] and tonumber(fields[5]),
    taken = fields[6] and tonumber(fields[6]) or 0,
    turn = tonumber(fields[7]) or 0,
    hasTimers = fields[8] == '1',
    keys = fields[9] and cjson.decode(fields[9]) or nil,
    hadKeys = fields[10] == '1',
    hadRuns = fields[11] == '1',
    hasNewer = fields[12] == '1',
    startsFrom = fields[14] and tonumber(fields[14]),
  }
  states[serviceType] = state
  return state
end

local function jobQueue(serviceType, id)
  local queue = queueKey(stateOf(serviceType).queue)
  if call('EXISTS', queue .. id) == 1 then return queue end
  for _, name in ipairs({ serviceType, serviceOf(serviceType) }) do
    if call('EXISTS', queueKey(name) .. id) == 1 then return queueKey(name) end
  end
  return nil
end

-- `isSubscribed(serviceType)`: if events of the type are kept for the service. `subscribe(serviceType, route)` begins
-- that, and retains the descriptions of the service's processes, as retained-descriptions.lua says.

local function isSubscribed(serviceType)
  return call('HEXISTS', key('routes', typeOf(serviceType)), serviceType) == 1
end

local function subscribe(serviceType, route)
  local service = serviceOf(serviceType)
  call('HSET', key('routes', typeOf(serviceType)), serviceType, cjson.encode(route))
  call('SADD', key('subscribed', service), serviceType)
  if call('SADD', key('services'), service) == 0 then return end
  local descriptions = key('last-descriptions', service)
  call('PERSIST', descriptions)
  for _, hash in ipairs(call('ZRANGE', descriptions, 0, -1)) do call('PERSIST', key('description', hash)) end
end

--- @per-call
states = {}
