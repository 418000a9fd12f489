import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { leases } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';

export const checkpointScript: Script = new Script({
  purpose: 'Stores a value for later deliveries of a run.',
  argv: 'lease, key, value as splitCheckpoint divides it',
  reply:
    'a commit result; already if this delivery stored the key before, fenced if another delivery did or the lease is lost',
  includes: [prelude, counters, leases],
  lua: `
local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
local name, shown, output = take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return 'fenced' end
local checkpoints = key('run', serviceType, id, 'checkpoints')
local stored = call('HGET', checkpoints, name)
if stored then return string.match(stored, '^%d+ (%d+) ') == starts and 'already' or 'fenced' end
-- The output comes first: Redis with no memory left rejects a script's first write only, and undoes none.
if output ~= '' then call('HSET', key('run', serviceType, id, 'outputs'), name, output) end
call('HSET', checkpoints, name, call('HLEN', checkpoints) .. ' ' .. starts .. ' ' .. shown)
clearCrashes(queue, id)
call('INCR', key('revision'))
touch(serviceType)
return 'ok'
`,
});
