import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { leases } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';

export const checkpointScript: Script = new Script({
  purpose: 'Stores a value for later deliveries of a run.',
  argv: 'lease, key, value',
  reply: 'a commit result; already if the key has a value',
  includes: [prelude, counters, leases],
  lua: `
local queue, id, token, serviceType, name, value = take(), take(), take(), take(), take(), take()
local checkpoints = key('run', serviceType, id, 'checkpoints')
local isLeased = leaseOf(queue, id, token) == 'ok'
local stored = call('HGET', checkpoints, name)
if stored then
  -- The same delivery repeats the call if the reply was lost with the connection.
  if isLeased and string.match(stored, '^%d+ (.*)$') == value then return 'ok' end
  return 'already'
end
if not isLeased then return 'fenced' end
call('HSET', checkpoints, name, call('HLEN', checkpoints) .. ' ' .. value)
clearCrashes(queue, id)
call('INCR', key('revision'))
touch(serviceType)
return 'ok'
`,
});
