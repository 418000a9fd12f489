import { runWaits } from '../runs/run-waits.js';
import { counters } from '../scripts/counters.js';
import { maxDuePerFetch } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { gates } from './gates.js';

/**
 * `takeNext(queueName)` moves what is due into the gates, and the event whose turn it is into the queue, if a lost or
 * released one does not stand there. Returns the next due time of the queue.
 */
export const takeNext: LuaFragment = new LuaFragment(
  `
local function nextDueTime(name)
  return tonumber(call('ZRANGE', key('due', name), 0, 0, 'WITHSCORES')[2])
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

local function moveToQueue(serviceType, id, name)
  local queue = queueKey(name)
  if call('EXISTS', queue .. id) == 0 then
    local from = jobQueue(serviceType, id)
    if not from then return false end
    call('RENAME', from .. id, queue .. id)
    local run = key('run', serviceType, id)
    if call('EXISTS', run) == 1 then call('HSET', run, 'queue', queue) end
  end
  call('RPUSH', queue .. 'wait', id)
  return true
end

local function takeTurn(name)
  local turns = key('turns', name)
  while true do
    local serviceType, turn = unpack(call('ZRANGE', turns, 0, 0, 'WITHSCORES'))
    if not serviceType then return end
    local id, lineKey = takeFromGate(serviceType)
    if not id then
      endTurn(serviceType)
      call('ZREM', turns, serviceType)
    elseif moveToQueue(serviceType, id, name) then
      local state = stateOf(serviceType)
      call('SET', key('turn', name), turn)
      countTaken(serviceType)
      countStart(serviceType)
      if lineKey then
        countKeyStart(serviceType, queueKey(name) .. id, lineKey)
        arrangeLine(serviceType, lineKey)
      end
      if state.concurrency or state.max or state.hadKeys then
        call('ZADD', turns, turn + 1, serviceType)
        arrange(serviceType)
      elseif call('ZCARD', key('gate', serviceType)) > 0 then
        call('ZADD', turns, turn + 1, serviceType)
      else
        call('HSET', key('dispatch', serviceType), 'turn', turn)
        call('ZREM', turns, serviceType)
      end
      return
    elseif lineKey then
      arrangeLine(serviceType, lineKey)
    end
  end
end

local function takeNext(name)
  local dueAt = nextDueTime(name)
  if dueAt and dueAt <= now then
    enterDue(name)
    dueAt = nextDueTime(name)
  end
  if call('EXISTS', queueKey(name) .. 'wait') == 0 then takeTurn(name) end
  return dueAt
end
`,
  [counters, gates, runWaits],
);
