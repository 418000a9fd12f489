import { counters } from '../counting/counters.js';
import { runWaits } from '../runs/run-waits.js';
import { maxDuePerFetch } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { gates } from './gates.js';

/**
 * `moveDue(queueName)` moves what is due into the gates, and returns the next due time. `takeTurn(queueName, count, start)`
 * makes the events active whose turn it is, at most `count`; it returns if others are left,
 * and if it may have changed a due time. `start(id, serviceType)` returns `false` if the event
 * is gone, and `nil` to take no further one.
 */
export const takeTurns: LuaFragment = new LuaFragment(
  `
local function nextDueTime(name)
  return tonumber(call('ZRANGE', key('due', name), '0', '0', 'WITHSCORES')[2])
end

local function enterDue(name)
  local left = ${maxDuePerFetch}
  for _, serviceType in ipairs(call('ZRANGEBYSCORE', key('due', name), '-inf', now, 'LIMIT', 0, left)) do
    if left <= 0 then break end
    local delayed = key('delayed', serviceType)
    local ids = call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, left)
    for _, id in ipairs(ids) do
      local queue = jobQueue(serviceType, id)
      call('ZREM', delayed, id)
      if queue then
        local order, window = unpack(call('HMGET', queue .. id, 'order', 'window'))
        if window then closeWindow(serviceType, id) end
        enterGate(serviceType, id, order)
      end
    end
    if #ids > 0 then changesOf(serviceType) end
    left = left - #ids - 1
    if left > 0 and stateOf(serviceType).hasTimers then left = left - resolveDue(serviceType, left) end
    arrange(serviceType)
  end
  writeChanges()
end

local function moveDue(name)
  local dueAt = nextDueTime(name)
  if not dueAt or dueAt > now then return dueAt end
  enterDue(name)
  return nextDueTime(name)
end

local function addActive(name, ids)
  if #ids > 0 then call('LPUSH', queueKey(name) .. 'active', unpack(ids)) end
end

local function takeLimited(name, serviceType, turn, start)
  local id, lineKey = takeFromGate(serviceType)
  if not id then
    endTurn(serviceType)
    call('ZREM', key('turns', name), serviceType)
  elseif start(id, serviceType) then
    addActive(name, { id })
    call('SET', key('turn', name), turn)
    countTaken(serviceType)
    countStart(serviceType)
    if lineKey then
      countKeyStart(serviceType, queueKey(name) .. id, lineKey)
      arrangeLine(serviceType, lineKey)
    end
    call('ZADD', key('turns', name), turn + 1, serviceType)
    arrange(serviceType)
  elseif lineKey then
    arrangeLine(serviceType, lineKey)
  end
end

-- A type that is alone has all turns.
local function takePlain(name, serviceType, turn, count, start)
  local gate = key('gate', serviceType)
  local ids = call('ZRANGE', gate, '0', count)
  local taken, started = 0, {}
  for index = 1, math.min(#ids, count) do
    local isStarted = start(ids[index], serviceType)
    if isStarted == nil then break end
    taken = index
    if isStarted then started[#started + 1] = ids[index] end
  end
  if taken > 0 then call('ZREM', gate, unpack(ids, 1, taken)) end
  addActive(name, started)
  return #ids > taken
end

local function takeTurn(name, count, start)
  local turns = key('turns', name)
  local first = call('ZRANGE', turns, '0', '1', 'WITHSCORES')
  local serviceType, turn, isAlone = first[1], first[2], #first == 2
  if not serviceType then return false end
  local state = stateOf(serviceType)
  if state.concurrency or state.max or state.hadKeys then
    takeLimited(name, serviceType, turn, start)
    return call('EXISTS', turns) == 1, true
  elseif not takePlain(name, serviceType, turn, isAlone and count or 1, start) then
    call('SET', key('turn', name), turn)
    call('HSET', key('dispatch', serviceType), 'turn', turn)
    call('ZREM', turns, serviceType)
    return not isAlone
  elseif not isAlone then
    call('SET', key('turn', name), turn)
    call('ZADD', turns, turn + 1, serviceType)
  end
  return true
end
`,
  [counters, gates, runWaits],
);
