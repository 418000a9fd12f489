import { maxDuePerFetch } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { typeStates } from './type-states.js';

// Added to the order of events that hold a slot of their key: they stand before all others of it.
const heldSpan = 2 ** 52;

/**
 * Lines of the types with a `key`: the waiting events of one key each, by priority, then acceptance. `lines` holds the
 * keys with an event that may start, in the order of their turns, `blocked` those that wait for a slot or their rate,
 * by the time at which they may start. Events without a key have a line too, without limits.
 *
 * An event takes a slot of its key with its first start and holds it until it ends. The job notes it in `held`.
 *
 * - `enterLine(serviceType, id, order, lineKey, isHeld)` and `leaveLine(serviceType, id)` add and remove an event
 * - `popLine(serviceType)` takes the next event; afterwards `countKeyStart(...)` and `arrangeLine(...)`
 * - `releaseKey(serviceType, job)` frees the slot that a job holds
 * - `addOverdue(serviceType, lineKey, by)` counts handlers that run on after their outcome
 * - `openLines(serviceType)` makes the lines ready whose rate opened; returns the time at which the next one opens
 * - `sortWaiting(serviceType)` moves some events after a type gained or lost its key; returns `true` if more are left
 * - `firstInLines(serviceType, count)` returns some of the ids, in no order
 */
export const keyLines: LuaFragment = new LuaFragment(
  `
local never = 2 ^ 53 - 1

local function lineOf(serviceType, id)
  local queue = jobQueue(serviceType, id)
  if not queue then return '', false end
  local lineKey, held = unpack(call('HMGET', queue .. id, 'key', 'held'))
  return lineKey or '', held and true or false
end

-- Returns nothing if the line is empty.
local function lineOpensAt(serviceType, lineKey)
  local order = call('ZRANGE', key('line', serviceType, lineKey), 0, 0, 'WITHSCORES')[2]
  local limits = stateOf(serviceType).keys
  if not order or not limits or lineKey == '' then return order and 0 end
  if limits.concurrency then
    -- An event that holds a slot needs no other one.
    local kind = tonumber(order) < 0 and 'overdue-keys' or 'held'
    local taken = tonumber(call('HGET', key(kind, serviceType), lineKey) or 0)
    if taken >= limits.concurrency then return never end
  end
  local oldest = limits.max and call('LINDEX', key('key-starts', serviceType, lineKey), limits.max - 1)
  return oldest and oldest + limits.perMs or 0
end

local function arrangeLine(serviceType, lineKey)
  local lines, blocked = key('lines', serviceType), key('blocked', serviceType)
  local opensAt = lineOpensAt(serviceType, lineKey)
  if opensAt and opensAt <= now then
    call('ZREM', blocked, lineKey)
    if call('ZSCORE', lines, lineKey) then return end
    call('ZADD', lines, call('HINCRBY', key('dispatch', serviceType), 'lineTurn', 1), lineKey)
  else
    call('ZREM', lines, lineKey)
    if opensAt then call('ZADD', blocked, opensAt, lineKey) else call('ZREM', blocked, lineKey) end
  end
end

local function enterLine(serviceType, id, order, lineKey, isHeld)
  local place = isHeld and order - ${heldSpan} or order
  call('ZADD', key('line', serviceType, lineKey), string.format('%.0f', place), id)
  arrangeLine(serviceType, lineKey)
end

local function leaveLine(serviceType, id)
  local lineKey = lineOf(serviceType, id)
  if call('ZREM', key('line', serviceType, lineKey), id) == 0 then return false end
  arrangeLine(serviceType, lineKey)
  return true
end

local function popLine(serviceType)
  local lines = key('lines', serviceType)
  while true do
    local lineKey = call('ZRANGE', lines, 0, 0)[1]
    if not lineKey then return nil end
    call('ZREM', lines, lineKey)
    local id = call('ZPOPMIN', key('line', serviceType, lineKey))[1]
    if id then return id, lineKey end
  end
end

local function holdKey(serviceType, job, lineKey)
  if call('HSETNX', job, 'held', lineKey) == 1 then call('HINCRBY', key('held', serviceType), lineKey, 1) end
end

local function countKeyStart(serviceType, job, lineKey)
  local limits = stateOf(serviceType).keys
  if not limits or lineKey == '' then return end
  holdKey(serviceType, job, lineKey)
  if not limits.max then return end
  local starts = key('key-starts', serviceType, lineKey)
  call('LPUSH', starts, now)
  call('LTRIM', starts, 0, limits.max - 1)
  call('PEXPIRE', starts, limits.perMs)
end

local function releaseKey(serviceType, job)
  local lineKey = call('HGET', job, 'held')
  if not lineKey then return end
  call('HDEL', job, 'held')
  local held = key('held', serviceType)
  if call('HINCRBY', held, lineKey, -1) <= 0 then call('HDEL', held, lineKey) end
  arrangeLine(serviceType, lineKey)
end

local function countPerKey(counts, lineKey, by)
  if call('HINCRBY', counts, lineKey, by) <= 0 then call('HDEL', counts, lineKey) end
end

-- A handler that runs on takes a slot beside the one that its event may hold.
local function addOverdue(serviceType, lineKey, by)
  countPerKey(key('held', serviceType), lineKey, by)
  countPerKey(key('overdue-keys', serviceType), lineKey, by)
  arrangeLine(serviceType, lineKey)
end

local function openLines(serviceType)
  local blocked = key('blocked', serviceType)
  for _, lineKey in ipairs(call('ZRANGEBYSCORE', blocked, '-inf', now, 'LIMIT', 0, ${maxDuePerFetch})) do
    arrangeLine(serviceType, lineKey)
  end
  local opensAt = tonumber(call('ZRANGE', blocked, 0, 0, 'WITHSCORES')[2])
  return opensAt and opensAt < never and opensAt or nil
end

local function firstLine(serviceType)
  return call('ZRANGE', key('lines', serviceType), 0, 0)[1] or call('ZRANGE', key('blocked', serviceType), 0, 0)[1]
end

local function firstInLines(serviceType, count)
  local lineKey = firstLine(serviceType)
  return lineKey and call('ZRANGE', key('line', serviceType, lineKey), 0, count - 1) or {}
end

local function sortWaiting(serviceType)
  local gate = key('gate', serviceType)
  if stateOf(serviceType).keys then
    local ids = call('ZRANGE', gate, 0, ${maxDuePerFetch - 1}, 'WITHSCORES')
    for index = 1, #ids, 2 do
      call('ZREM', gate, ids[index])
      enterLine(serviceType, ids[index], tonumber(ids[index + 1]), lineOf(serviceType, ids[index]))
    end
    return call('EXISTS', gate) == 1
  end
  for _ = 1, ${maxDuePerFetch} do
    local lineKey = firstLine(serviceType)
    if not lineKey then return false end
    local id, order = unpack(call('ZPOPMIN', key('line', serviceType, lineKey)))
    if id then call('ZADD', gate, string.format('%.0f', order % ${heldSpan}), id) end
    arrangeLine(serviceType, lineKey)
  end
  return firstLine(serviceType) ~= nil
end
`,
  [typeStates],
);
