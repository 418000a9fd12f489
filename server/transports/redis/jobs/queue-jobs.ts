import { prelude } from '../connection/keys.js';
import { LuaFragment } from '../connection/script.js';
import { orderSpan } from '../connection/script-limits.js';

/**
 * `stateOf(serviceType)` returns the state in which the last settlement left a service type; a script reads it once.
 * `jobQueue(serviceType, id)` returns the prefix of the keys of a job that is not leased: it stays where it was
 * accepted until a worker of another queue takes it.
 */
export const typeStates: LuaFragment = new LuaFragment(
  `
local states
local function stateOf(serviceType)
  local state = states[serviceType]
  if state then return state end
  local fields = call('HMGET', key('dispatch', serviceType), 'queue', 'isOpen', 'concurrency', 'max', 'perMs', 'taken', 'turn',
    'hasTimers', 'keys', 'hadKeys', 'hadRuns')
  state = {
    queue = fields[1] or serviceType,
    isOpen = fields[2] == '1',
    concurrency = fields[3] and tonumber(fields[3]),
    max = fields[4] and tonumber(fields[4]),
    perMs = fields[5] and tonumber(fields[5]),
    taken = fields[6] and tonumber(fields[6]) or 0,
    turn = tonumber(fields[7]) or 0,
    hasTimers = fields[8] == '1',
    keys = fields[9] and cjson.decode(fields[9]) or nil,
    hadKeys = fields[10] == '1',
    hadRuns = fields[11] == '1',
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
`,
  [prelude],
  'states = {}',
);

/**
 * Moves of a job between the sets and lists of its worker queue, which are laid out as BullMQ 6 expects them. `queue`
 * is the prefix of the queue's keys. `endLease(queue, id)` returns 1 if the job was leased; `leaveActive(queue, id)` does
 * the same for a job whose lock is deleted with it.
 */
export const queueMoves: LuaFragment = new LuaFragment(
  `
local woken
local function wakeWorker(queue)
  if woken[queue] then return end
  woken[queue] = true
  call('ZADD', queue .. 'marker', '0', '0')
end

-- An id that stays in "stalled" has no effect: BullMQ looks for it among the active jobs.
local function leaveActive(queue, id)
  return call('LREM', queue .. 'active', '-1', id)
end

local function endLease(queue, id)
  call('DEL', queue .. id .. ':lock')
  return leaveActive(queue, id)
end
`,
  [prelude],
  'woken = {}',
);

/**
 * `leaseOf(queue, id, token, starts, serviceType)` returns a commit result, and what an outcome needs of the job: number of
 * starts, time of acceptance, failed attempts, deduplication; `clearCrashes(queue, id)` resets the crash count of a job
 * whose handler has reported; `endStart(queue, id)` does so for an attempt that has an outcome.
 */
export const leases: LuaFragment = new LuaFragment(
  `
local function clearCrashes(queue, id)
  call('HDEL', queue .. id, 'stc', 'crashes', 'started', 'cause')
end

local function endStart(queue, id)
  call('HDEL', queue .. id, 'stc', 'crashes', 'started', 'cause', 'leased')
end

-- The job of an event that has ended is deleted, and so is that of a suspended run. A worker uses a token again for its
-- next lease, even of the same job: the number of starts, where it is given, tells the leases of a job apart.
local function leaseOf(queue, id, token, starts, serviceType)
  if call('GET', queue .. id .. ':lock') ~= token then
    local isPending = call('EXISTS', queue .. id) == 1 or serviceType and call('HEXISTS', key('suspended', serviceType), id) == 1
    return isPending and 'fenced' or 'already'
  end
  if not starts then return 'ok' end
  local fields = call('HMGET', queue .. id, 'ats', 'timestamp', 'attempts', 'dedupe')
  if fields[1] ~= starts then return 'fenced' end
  return 'ok', fields
end
`,
  [prelude],
);

/**
 * `activeJobs()` returns the number of leased jobs per service type, a string that changes with the leases, and the time
 * of acceptance of the oldest job per service type that is leased or about to be.
 */
export const activeJobs: LuaFragment = new LuaFragment(
  `
local function noteJob(oldest, jobKey)
  local serviceType, at = unpack(call('HMGET', jobKey, 'serviceType', 'timestamp'))
  if not serviceType then return nil end
  oldest[serviceType] = math.min(oldest[serviceType] or math.huge, tonumber(at) or math.huge)
  return serviceType
end

local function activeJobs()
  local active, leased, oldest = {}, {}, {}
  for _, name in ipairs(call('SMEMBERS', key('queues'))) do
    local queue = queueKey(name)
    local ids = call('LRANGE', queue .. 'active', 0, -1)
    for _, id in ipairs(ids) do
      local serviceType = noteJob(oldest, queue .. id)
      if serviceType then active[serviceType] = (active[serviceType] or 0) + 1 end
    end
    for _, id in ipairs(call('LRANGE', queue .. 'wait', 0, -1)) do noteJob(oldest, queue .. id) end
    if #ids > 0 then leased[#leased + 1] = name .. ':' .. table.concat(ids, ',') end
  end
  table.sort(leased)
  return active, table.concat(leased, ';'), oldest
end
`,
  [prelude],
);

/** `delayedJobs(serviceType)` returns the number of jobs that wait for their delay or the delay of a retry. */
export const delayedJobs: LuaFragment = new LuaFragment(
  `
local function delayedJobs(serviceType)
  -- Without a worker those whose delay has ended stay in the set.
  return call('ZCOUNT', key('delayed', serviceType), '(' .. now, '+inf')
end
`,
  [prelude],
);

/**
 * `oldestPending(serviceType, oldestActive)` returns the time of acceptance of the oldest event that is active, waits,
 * or is the first one of the delayed ones. `oldestActive` is the one of `activeJobs`.
 */
export const oldestPending: LuaFragment = new LuaFragment(
  `
local function oldestPending(serviceType, oldestActive)
  local oldest = oldestActive
  local function look(id)
    local queue = id and jobQueue(serviceType, id)
    local at = queue and tonumber(call('HGET', queue .. id, 'timestamp'))
    if at and (not oldest or at < oldest) then oldest = at end
  end
  local gate = key('gate', serviceType)
  local id, order = unpack(call('ZRANGE', gate, 0, 0, 'WITHSCORES'))
  while id do
    look(id)
    -- Within a priority the first one is the oldest.
    local nextPriority = (math.floor(order / ${orderSpan}) + 1) * ${orderSpan}
    id, order = unpack(call('ZRANGEBYSCORE', gate, string.format('%.0f', nextPriority), '+inf', 'WITHSCORES', 'LIMIT', 0, 1))
  end
  look(call('ZRANGE', key('delayed', serviceType), 0, 0)[1])
  return oldest
end
`,
  [prelude, typeStates],
);
