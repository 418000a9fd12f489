import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/**
 * `takePlain(queueName)` is the short form of `takeNext` for the common case: nothing is due, and the event whose turn
 * it is has a type without limits and stands in this queue. It needs no other fragment, because Redis spends as long on
 * the functions of the gate as on its commands. Returns `false` in all other cases, and has changed nothing then; else
 * `true` and the next due time.
 */
export const takePlain: LuaFragment = new LuaFragment(
  `
local function takePlain(name)
  local dueAt = tonumber(call('ZRANGE', key('due', name), 0, 0, 'WITHSCORES')[2])
  if dueAt and dueAt <= now then return false end
  local queue = queueKey(name)
  if call('EXISTS', queue .. 'wait') == 1 then return true, dueAt end
  local turns = key('turns', name)
  local first = call('ZRANGE', turns, 0, 1, 'WITHSCORES')
  local serviceType, turn, isAlone = first[1], first[2], #first == 2
  if not serviceType then return true, dueAt end
  local dispatch, gate = key('dispatch', serviceType), key('gate', serviceType)
  local limits = call('HMGET', dispatch, 'concurrency', 'max', 'hadKeys')
  if limits[1] or limits[2] or limits[3] then return false end
  local ids = call('ZRANGE', gate, 0, 1)
  if #ids == 0 or call('EXISTS', queue .. ids[1]) == 0 then return false end

  call('ZREM', gate, ids[1])
  call('RPUSH', queue .. 'wait', ids[1])
  if #ids == 1 then
    call('SET', key('turn', name), turn)
    call('HSET', dispatch, 'turn', turn)
    call('ZREM', turns, serviceType)
  elseif not isAlone then
    call('SET', key('turn', name), turn)
    call('ZADD', turns, turn + 1, serviceType)
  end
  return true, dueAt
end
`,
  [prelude],
);
