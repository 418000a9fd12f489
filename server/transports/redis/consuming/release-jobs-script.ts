import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { leases, queueMoves } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';

export const releaseJobsScript: Script = new Script({
  purpose: 'Releases leased jobs with no attempt spent: in the order of their start they are the next of their queue.',
  argv: 'queue, (job id, token)...',
  reply: 'the number of released jobs',
  includes: [prelude, counters, leases, queueMoves],
  lua: `
local queue = take()
local released = 0
for index = #ARGV - 1, 2, -2 do
  local id, token = ARGV[index], ARGV[index + 1]
  if leaseOf(queue, id, token) == 'ok' then
    endLease(queue, id)
    touch(call('HGET', queue .. id, 'serviceType'))
    call('HDEL', queue .. id, 'started')
    call('RPUSH', queue .. 'wait', id)
    released = released + 1
  end
end
if released > 0 then call('INCR', key('revision')) end
wakeWorker(queue)
return released
`,
});
