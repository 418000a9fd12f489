import { gates } from '../gate/gates.js';
import { counters } from '../counting/counters.js';
import { prelude } from '../scripts/prelude.js';
import { leases } from '../jobs/queue-moves.js';
import { Script } from '../scripts/script.js';

export const releaseJobsScript: Script = new Script({
  name: 'releaseJobs',
  access: 'works',
  purpose:
    'Releases leased jobs with no attempt spent: in the order of their start they are the next of their queue. Jobs of a type that has another queue by now, or that exceed a limit, return to the gate.',
  argv: 'queue, (job id, token)...',
  reply: 'the number of released jobs',
  includes: [prelude, counters, leases, gates],
  lua: `
local queue = take()
local released = 0
for index = #ARGV - 1, 2, -2 do
  local id, token = ARGV[index], ARGV[index + 1]
  if leaseOf(queue, id, token) == 'ok' then
    local serviceType, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
    local state = stateOf(serviceType)
    endLease(queue, id)
    touch(serviceType)
    call('HDEL', queue .. id, 'started')
    local exceeds = state.concurrency and state.taken > state.concurrency or not mayRunOn(serviceType, queue .. id)
    if queueKey(state.queue) == queue and not exceeds then
      call('RPUSH', queue .. 'wait', id)
    else
      countReturned(serviceType)
      enterGate(serviceType, id, order)
    end
    released = released + 1
  end
end
arrangeTypes()
if released > 0 then call('INCR', key('revision')) end
wakeWorker(queue)
return released
`,
});
