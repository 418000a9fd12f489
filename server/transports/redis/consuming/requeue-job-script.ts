import { counters } from '../counting/counters.js';
import { leases } from '../jobs/queue-moves.js';
import { subscribed } from '../membership/subscription-fragments.js';
import { discarding } from '../removal/discarding.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

export const requeueJobScript: Script = new Script({
  name: 'requeueJob',
  access: 'works',
  purpose:
    'Returns a leased job that this process cannot run, or not now, to the gate of its type, or discards it if nothing subscribes to its type.',
  argv: 'queue, job id, token, delay in milliseconds',
  reply: 'nothing',
  includes: [prelude, counters, leases, subscribed, discarding],
  lua: `
local queue, id, token, delayMs = take(), take(), take(), takeNumber()
if leaseOf(queue, id, token) ~= 'ok' then return end
local serviceType, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
if isSubscribed(serviceType) then
  endLease(queue, id)
  countReturned(serviceType)
  -- The handler did not start.
  call('HDEL', queue .. id, 'leased')
  call('LPOP', key('starts', serviceType))
  uncountKeyStart(serviceType, queue .. id)
  -- Without the delay a process that is not yet, or no longer, part of the settlement would take it again at once.
  if queueKey(stateOf(serviceType).queue) == queue then
    enterLater(serviceType, id, delayMs)
  else
    enterGate(serviceType, id, order)
  end
  holdOnToKey(serviceType, queue .. id)
  changesOf(serviceType)
else
  discard(queue, id)
end
arrangeTypes()
writeChanges()
`,
});
