/**
 * What all scripts begin with. `KEYS[1]` is the transport's prefix, a hash tag: every key derives from
 * it and lies in one slot. Arguments are read in order with `take`. Time is the server's, so that
 * processes whose clocks differ agree.
 *
 * A unit is one service's share of one type, `service/type`, both percent-encoded. A lane is the key
 * prefix of a BullMQ queue; its lists and sets are laid out as BullMQ 6 does.
 */
export const library = `
local prefix = KEYS[1]
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local position = 0
local function take()
  position = position + 1
  return ARGV[position]
end
local function takeNumber()
  return tonumber(take())
end
`;

/** Counters: gathered while a script runs, written once at its end by `writeChanges`. */
export const counting = `
local minute = math.floor(now / 60000)
local changes = {}
local function change(unit)
  if changes[unit] == nil then
    changes[unit] = { received = 0, completed = 0, failed = 0, retried = 0, deduplicated = 0, buckets = {}, longest = 0 }
  end
  return changes[unit]
end

local function countMinute(unit, letter, by)
  if by == 0 then return end
  local key = prefix .. ':minutes:' .. unit
  if call('HINCRBY', key, minute .. letter, by) > by then return end
  for _, field in ipairs(call('HKEYS', key)) do
    if tonumber(string.sub(field, 1, -2)) <= minute - 60 then call('HDEL', key, field) end
  end
  call('PEXPIRE', key, 3660000)
end

local function touch(unit)
  if call('HINCRBY', prefix .. ':stats:' .. unit, 'revision', 1) == 1 then
    call('SADD', prefix .. ':units:' .. string.match(unit, '/(.*)$'), unit)
  end
end

local counters = { 'received', 'completed', 'failed', 'retried', 'deduplicated' }
local function writeChanges()
  if next(changes) == nil then return end
  call('INCR', prefix .. ':revision')
  for unit, changed in pairs(changes) do
    local key = prefix .. ':stats:' .. unit
    touch(unit)
    for _, field in ipairs(counters) do
      if changed[field] > 0 then call('HINCRBY', key, field, changed[field]) end
    end
    if changed.received > 0 then call('HSET', key, 'lastReceivedAt', now) end
    if changed.failed > 0 then call('HSET', key, 'lastFailedAt', now) end
    for bucket, by in pairs(changed.buckets) do call('HINCRBY', key, 'd' .. bucket, by) end
    if changed.longest > (tonumber(call('HGET', key, 'longest')) or 0) then call('HSET', key, 'longest', changed.longest) end
    countMinute(unit, 'r', changed.received)
    countMinute(unit, 'c', changed.completed)
    countMinute(unit, 'f', changed.failed)
  end
end
`;

/** Moves of a job between the sets of its lane. */
export const lanes = `
local function wake(lane)
  call('ZADD', lane .. 'marker', 0, '0')
end

local function enqueue(lane, id, priority)
  local order = call('INCR', lane .. 'pc')
  call('ZADD', lane .. 'prioritized', priority * 4294967296 + order % 4294967296, id)
  wake(lane)
end

local function enqueueLater(lane, id, delayMs)
  local order = call('INCR', lane .. 'pc')
  call('ZADD', lane .. 'delayed', (now + math.ceil(delayMs)) * 4096 + order % 4096, id)
  local first = call('ZRANGE', lane .. 'delayed', 0, 0, 'WITHSCORES')
  call('ZADD', lane .. 'marker', math.floor(first[2] / 4096), '1')
end

-- The DEL comes first: a script that has freed something may go on where Redis is out of memory.
local function release(lane, id)
  call('DEL', lane .. id .. ':lock')
  call('SREM', lane .. 'stalled', id)
  call('LREM', lane .. 'active', -1, id)
end

-- What reports is not what processes die over.
local function clearCrashes(lane, id)
  call('HDEL', lane .. id, 'stc', 'crashes', 'started')
end

-- A job that has ended is gone, so one that is not there has ended.
local function leaseOf(lane, id, token)
  if call('EXISTS', lane .. id) == 0 then return 'already' end
  if call('GET', lane .. id .. ':lock') ~= token then return 'fenced' end
  return 'ok'
end
`;

/** Accepts an event for every service that subscribes to its type. Needs `counting` and `lanes`. */
export const acceptance = `
local knownRoutes = {}
local function routesOf(type)
  if knownRoutes[type] == nil then
    local routes = {}
    for index, route in ipairs(call('HVALS', prefix .. ':routes:' .. type)) do routes[index] = cjson.decode(route) end
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

local function deliver(route, envelope, id, depth)
  local lane = prefix .. ':lane:' .. route.lane .. ':'
  local data = envelope.head .. ',"depth":' .. depth .. ',"replays":' .. (envelope.replays or 0) .. '}'
  call('HSET', lane .. id, 'name', route.type, 'data', data, 'opts', '{}', 'timestamp', now,
    'delay', envelope.delayMs, 'priority', envelope.priority, 'unit', route.unit)
  local changed = change(route.unit)
  changed.received = changed.received + 1
  if route.keepsRuns then
    call('HSET', prefix .. ':run:' .. route.unit .. ':' .. id, 'data', data, 'acceptedAt', now, 'attempt', 1, 'lane', lane)
    call('ZADD', prefix .. ':runs:' .. route.unit, call('INCR', prefix .. ':sequence'), id)
  end
  if envelope.delayMs > 0 then enqueueLater(lane, id, envelope.delayMs) else enqueue(lane, id, envelope.priority) end
end

local function accept(envelope)
  local isHandled = false
  for _, route in ipairs(routesOf(envelope.type)) do
    if route.idSuffix then
      deliver(route, envelope, envelope.id .. route.idSuffix, envelope.depth + 1)
    else
      isHandled = true
      deliver(route, envelope, envelope.id, envelope.depth)
    end
  end
  if isHandled then return end
  local changed = change(envelope.sender)
  changed.received = changed.received + 1
  changed.completed = changed.completed + 1
end
`;

/** Which jobs are leased now, by unit. */
export const activity = `
local function activeJobs()
  local active, names = {}, {}
  for _, name in ipairs(call('SMEMBERS', prefix .. ':lanes')) do
    local lane = prefix .. ':lane:' .. name .. ':'
    local ids = call('LRANGE', lane .. 'active', 0, -1)
    for _, id in ipairs(ids) do
      local unit = call('HGET', lane .. id, 'unit')
      if unit then active[unit] = (active[unit] or 0) + 1 end
    end
    if #ids > 0 then names[#names + 1] = name .. ':' .. table.concat(ids, ',') end
  end
  table.sort(names)
  return active, table.concat(names, ';')
end
`;
