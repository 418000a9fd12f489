import { prelude } from '../connection/keys.js';
import { LuaFragment } from '../connection/script.js';
import { maxEvictedDeadLetters } from '../connection/script-limits.js';
import { dedupe, eventLog } from './event-log.js';
import { gates } from './gates.js';

/**
 * `deadLetterKey(serviceType, id)`, `deadLetterKeys(serviceType, id)`, `deleteDeadLetter(serviceType, id)`,
 * `countDeadLetters(serviceType)`. Redis deletes a dead letter with a maximum age; `forgetExpired(serviceType)` deletes
 * what names it.
 */
export const deadLetters: LuaFragment = new LuaFragment(
  `
local function deadLetterKey(serviceType, id)
  return key('dead-letter', serviceOf(serviceType), id)
end
local function deadLetterKeys(serviceType, id)
  local deadLetter = deadLetterKey(serviceType, id)
  return { deadLetter, deadLetter .. ':order', deadLetter .. ':checkpoints', deadLetter .. ':outputs' }
end

local function deleteDeadLetter(serviceType, id)
  -- A record of the event keeps it in the index.
  if not isLogged(serviceType, id) and not hasRetainedRun(serviceType, id) then
    unindexEvent(serviceType, id, requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')))
  end
  call('DEL', unpack(deadLetterKeys(serviceType, id)))
  call('ZREM', key('dead-letters', serviceType), id)
  call('ZREM', key('expiring', serviceType), id)
end

local function countDeadLetters(serviceType)
  return call('ZCARD', key('dead-letters', serviceType)) - call('ZCOUNT', key('expiring', serviceType), '-inf', now)
end

local function forgetExpired(serviceType)
  local expired = call('ZRANGEBYSCORE', key('expiring', serviceType), '-inf', now, 'LIMIT', 0, ${maxEvictedDeadLetters})
  for _, id in ipairs(expired) do deleteDeadLetter(serviceType, id) end
  endIndexing(serviceType)
end
`,
  [eventLog, prelude],
);

/**
 * `takeDeadLetterLimits()` reads the maximum number and the maximum age in ms, 0 for none. `addDeadLetter(...)` makes the
 * dead letter of a job that failed, and evicts the oldest over the limit.
 */
export const deadLetterMoves: LuaFragment = new LuaFragment(
  `
local function takeDeadLetterLimits()
  return { count = takeNumber(), ageMs = takeNumber() }
end

local function addDeadLetter(queue, id, serviceType, outcome, limits)
  local deadLetters = key('dead-letters', serviceType)
  if limits.count > 0 then
    local deadLetter = deadLetterKey(serviceType, id)
    endDedupe(queue .. id)
    freeKey(serviceType, queue .. id)
    call('RENAME', queue .. id, deadLetter)
    call('HDEL', deadLetter, 'dedupe', 'order')
    call('HSET', deadLetter, 'at', now, 'attempt', outcome.attempt, 'error', outcome.value,
      'startedAt', string.format('%.0f', now - outcome.durationMs))
    if outcome.step ~= '' then call('HSET', deadLetter, 'step', outcome.step) end
    for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
      call('COPY', key('run', serviceType, id, part), deadLetter .. ':' .. part)
    end
    call('ZADD', deadLetters, call('INCR', key('sequence')), id)
    if limits.ageMs > 0 then
      call('ZADD', key('expiring', serviceType), now + limits.ageMs, id)
      endIndexingAt(serviceType, id, outcome.requestId, now + limits.ageMs)
      for _, name in ipairs(deadLetterKeys(serviceType, id)) do call('PEXPIREAT', name, now + limits.ageMs) end
    end
  end
  forgetExpired(serviceType)
  local excess = call('ZCARD', deadLetters) - limits.count
  if excess <= 0 then return end
  -- A lowered limit leaves many to evict: each call evicts some, because nothing else runs meanwhile.
  for _, oldest in ipairs(call('ZRANGE', deadLetters, 0, math.min(excess, ${maxEvictedDeadLetters}) - 1)) do
    deleteDeadLetter(serviceType, oldest)
  end
end
`,
  [deadLetters, dedupe, gates],
);
