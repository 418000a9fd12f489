import { keptMinutes, minuteMs } from '../../limits.js';
import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

/**
 * Counters: `changesOf(serviceType)` gathers them while a script runs, `writeChanges()` writes them once at its end.
 * `touch(serviceType)` changes the revision of a type whose counters stay as they are.
 */
export const counters: LuaFragment = new LuaFragment(
  `
local minute = math.floor(now / ${minuteMs})
local changes = {}
local function changesOf(serviceType)
  if changes[serviceType] == nil then
    changes[serviceType] = { received = 0, completed = 0, failed = 0, retried = 0, deduplicated = 0, buckets = {}, longest = 0 }
  end
  return changes[serviceType]
end

local function countMinute(serviceType, counter, by)
  if by == 0 then return end
  local minutes = key('minutes', serviceType)
  if call('HINCRBY', minutes, minute .. counter, by) > by then return end
  for _, field in ipairs(call('HKEYS', minutes)) do
    if tonumber(string.sub(field, 1, -2)) <= minute - ${keptMinutes} then call('HDEL', minutes, field) end
  end
  call('PEXPIRE', minutes, ${(keptMinutes + 1) * minuteMs})
end

local function touch(serviceType)
  if call('HINCRBY', key('stats', serviceType), 'revision', 1) == 1 then
    call('SADD', key('service-types', typeOf(serviceType)), serviceType)
  end
end

local counterNames = { 'received', 'completed', 'failed', 'retried', 'deduplicated' }
local function writeChanges()
  if next(changes) == nil then return end
  call('INCR', key('revision'))
  for serviceType, changed in pairs(changes) do
    local stats = key('stats', serviceType)
    touch(serviceType)
    for _, name in ipairs(counterNames) do
      if changed[name] > 0 then call('HINCRBY', stats, name, changed[name]) end
    end
    if changed.received > 0 then call('HSET', stats, 'lastReceivedAt', now) end
    if changed.failed > 0 then call('HSET', stats, 'lastFailedAt', now) end
    for bucket, by in pairs(changed.buckets) do call('HINCRBY', stats, 'd' .. bucket, by) end
    if changed.longest > (tonumber(call('HGET', stats, 'longest')) or 0) then call('HSET', stats, 'longest', changed.longest) end
    countMinute(serviceType, 'r', changed.received)
    countMinute(serviceType, 'c', changed.completed)
    countMinute(serviceType, 'f', changed.failed)
  end
end
`,
  [prelude],
);
