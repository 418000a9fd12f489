import { acceptance, counting, lanes, library } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

export const letterOf = `
local function letterOf(unit, id)
  return prefix .. ':letter:' .. string.match(unit, '^[^/]*') .. ':' .. id
end
`;

/** Makes dead letters of jobs that failed. The next argument is how many are kept of a unit. */
export const burial: string = `
local maxDeadLetters = takeNumber()
${letterOf}
local function bury(lane, id, unit, outcome)
  local letters = prefix .. ':letters:' .. unit
  if maxDeadLetters > 0 then
    local letter = letterOf(unit, id)
    call('RENAME', lane .. id, letter)
    call('HSET', letter, 'at', now, 'attempt', outcome.attempt, 'error', outcome.value)
    call('COPY', prefix .. ':run:' .. unit .. ':' .. id .. ':checkpoints', letter .. ':checkpoints')
    call('ZADD', letters, call('INCR', prefix .. ':sequence'), id)
  end
  local excess = call('ZCARD', letters) - maxDeadLetters
  if excess <= 0 then return end
  -- Far more where the limit was lowered: they go bit by bit, for a script holds up everything else.
  for _, oldest in ipairs(call('ZRANGE', letters, 0, math.min(excess, 100) - 1)) do
    call('DEL', letterOf(unit, oldest), letterOf(unit, oldest) .. ':checkpoints')
    call('ZREM', letters, oldest)
  end
end
`;

/** The latest dead letters of a unit, newest first. */
export const deadLettersScript: Script = new Script(`${library}${letterOf}
local unit, limit = take(), takeNumber()
local answer = {}
for index, id in ipairs(call('ZREVRANGE', prefix .. ':letters:' .. unit, 0, limit - 1)) do
  answer[index] = { id, unpack(call('HMGET', letterOf(unit, id), 'data', 'at', 'attempt', 'error')) }
end
return answer
`);

/**
 * Accepts the event of a dead letter again, where its type's events go now. Answers 0 where there is no such
 * letter, and its unit where nothing goes to that any more. Sent again with the same token it answers the same
 * and changes nothing.
 */
export const replayScript: Script = new Script(`${library}${counting}${lanes}${acceptance}
local sent, sentForMs = prefix .. ':sent:' .. take(), take()
if call('EXISTS', sent) == 1 then return 1 end
local service, id = take(), take()
local letter = prefix .. ':letter:' .. service .. ':' .. id
local unit, data, priority = unpack(call('HMGET', letter, 'unit', 'data', 'priority'))
if not unit then return 0 end
local head, depth, replays = string.match(data, '^(.*),"depth":(%d+),"replays":(%d+)}$')
local found = call('HGET', prefix .. ':routes:' .. string.match(unit, '/(.*)$'), unit)
if not found then return unit end
local route = cjson.decode(found)

call('DEL', letter)
call('ZREM', prefix .. ':letters:' .. unit, id)
local run = prefix .. ':run:' .. unit .. ':' .. id
call('DEL', run)
call('LREM', prefix .. ':ended:' .. unit, 1, id)
if call('EXISTS', letter .. ':checkpoints') == 1 then call('RENAME', letter .. ':checkpoints', run .. ':checkpoints') end
deliver(route, { head = head, priority = priority, delayMs = 0, replays = replays + 1 }, id, depth)
writeChanges()
call('SET', sent, '', 'PX', sentForMs)
return 1
`);
