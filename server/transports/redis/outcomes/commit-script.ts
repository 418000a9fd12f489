import { conclusion } from './end-attempt.js';
import { burial } from '../dead-letters/dead-letter-scripts.js';
import { acceptance, counting, lanes, library } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

/**
 * Records outcomes of leased jobs, each with its follow-ups and its dead letter in the same step. Answers a
 * commit result for each.
 */
export const commitScript: Script = new Script(`${library}${counting}${lanes}${acceptance}${conclusion}${burial}
local results, touched = {}, {}
for index = 1, takeNumber() do
  local lane, id, token, unit, keepsRuns = take(), take(), take(), take(), take() == '1'
  local outcome = takeOutcome()
  local result = leaseOf(lane, id, token)
  if result == 'ok' then
    if outcome.status == 'failed' then bury(lane, id, unit, outcome) end
    conclude(lane, id, unit, keepsRuns, outcome)
    touched[lane] = true
    if keepsRuns and outcome.status ~= 'retry' then announceEnd(unit, id, nil) end
  end
  results[index] = result
end
for lane in pairs(touched) do call('XTRIM', lane .. 'events', 'MAXLEN', '~', 100) end
writeChanges()
return results
`);

/** Ends a run, whoever holds it or nobody. */
export const endRunScript: Script = new Script(`${library}${counting}${lanes}${acceptance}${conclusion}
local unit, id, reason = take(), take(), take()
local outcome = takeOutcome()
local run = prefix .. ':run:' .. unit .. ':' .. id
local known = call('HMGET', run, 'lane', 'status', 'attempt')
if not known[1] then return 'fenced' end
if known[2] then return 'already' end
outcome.attempt = tonumber(known[3])
call('LREM', known[1] .. 'wait', 1, id)
call('LREM', prefix .. ':parked:' .. unit, 1, known[1] .. '\\n' .. id)
conclude(known[1], id, unit, true, outcome)
announceEnd(unit, id, reason)
writeChanges()
return 'ok'
`);

/** Keeps a value for later deliveries of a run. */
export const checkpointScript: Script = new Script(`${library}${counting}${lanes}
local lane, id, token, unit, key, value = take(), take(), take(), take(), take(), take()
local checkpoints = prefix .. ':run:' .. unit .. ':' .. id .. ':checkpoints'
local isLeased = leaseOf(lane, id, token) == 'ok'
local kept = call('HGET', checkpoints, key)
if kept then
  -- Sent again by the same delivery, for its answer was lost with the connection.
  if isLeased and string.match(kept, '^%d+ (.*)$') == value then return 'ok' end
  return 'already'
end
if not isLeased then return 'fenced' end
call('HSET', checkpoints, key, call('HLEN', checkpoints) .. ' ' .. value)
clearCrashes(lane, id)
call('INCR', prefix .. ':revision')
touch(unit)
return 'ok'
`);

/** Gives leased jobs back, in the order of their start, no attempt spent; they are the next of their lane. */
export const handBackScript: Script = new Script(`${library}${counting}${lanes}
local lane = take()
local handedBack = 0
for index = #ARGV - 1, 2, -2 do
  local id, token = ARGV[index], ARGV[index + 1]
  if leaseOf(lane, id, token) == 'ok' then
    release(lane, id)
    touch(call('HGET', lane .. id, 'unit'))
    call('HDEL', lane .. id, 'started')
    call('RPUSH', lane .. 'wait', id)
    handedBack = handedBack + 1
  end
end
if handedBack > 0 then call('INCR', prefix .. ':revision') end
wake(lane)
return handedBack
`);
