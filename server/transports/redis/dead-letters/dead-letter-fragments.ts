import { gates } from '../gate/gates.js';
import { dedupe } from '../publishing/dedupe.js';
import { maxEvictedDeadLetters } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/** `deadLetterKey(serviceType, id)` and `deleteDeadLetter(serviceType, id)`. */
export const deadLetters: LuaFragment = new LuaFragment(
  `
local function deadLetterKey(serviceType, id)
  return key('dead-letter', serviceOf(serviceType), id)
end
local function deleteDeadLetter(serviceType, id)
  local deadLetter = deadLetterKey(serviceType, id)
  call('DEL', deadLetter, deadLetter .. ':order', deadLetter .. ':checkpoints', deadLetter .. ':outputs')
  call('ZREM', key('dead-letters', serviceType), id)
end
`,
  [prelude],
);

/** `addDeadLetter(...)` makes the dead letter of a job that failed, and evicts the oldest over the limit. */
export const deadLetterMoves: LuaFragment = new LuaFragment(
  `
local function addDeadLetter(queue, id, serviceType, outcome, maxDeadLetters)
  local deadLetters = key('dead-letters', serviceType)
  if maxDeadLetters > 0 then
    local deadLetter = deadLetterKey(serviceType, id)
    endDedupe(queue .. id)
    freeKey(serviceType, queue .. id)
    call('RENAME', queue .. id, deadLetter)
    call('HDEL', deadLetter, 'dedupe', 'order')
    call('HSET', deadLetter, 'at', now, 'attempt', outcome.attempt, 'error', outcome.value)
    if outcome.step ~= '' then call('HSET', deadLetter, 'step', outcome.step) end
    for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
      call('COPY', key('run', serviceType, id, part), deadLetter .. ':' .. part)
    end
    call('ZADD', deadLetters, call('INCR', key('sequence')), id)
  end
  local excess = call('ZCARD', deadLetters) - maxDeadLetters
  if excess <= 0 then return end
  -- A lowered limit leaves many to evict: each call evicts some, because nothing else runs meanwhile.
  for _, oldest in ipairs(call('ZRANGE', deadLetters, 0, math.min(excess, ${maxEvictedDeadLetters}) - 1)) do
    deleteDeadLetter(serviceType, oldest)
  end
end
`,
  [deadLetters, dedupe, gates],
);
