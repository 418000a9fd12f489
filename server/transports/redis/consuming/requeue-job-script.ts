import { liveHandlers, subscribed } from '../membership/subscription-fragments.js';
import { discarding } from '../removal/discarding.js';
import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { leases, queueMoves } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';

export const requeueJobScript: Script = new Script({
  purpose:
    'Requeues a leased job that this process cannot run, or not now: with a delay if a live process handles its type. Otherwise parks it until one does, or discards it if nothing subscribes to its type.',
  argv: 'queue, job id, token, delay in milliseconds',
  reply: 'nothing',
  includes: [prelude, counters, leases, queueMoves, subscribed, liveHandlers, discarding],
  lua: `
local queue, id, token, delayMs = take(), take(), take(), takeNumber()
if leaseOf(queue, id, token) ~= 'ok' then return end
local serviceType = call('HGET', queue .. id, 'serviceType')
if not isSubscribed(serviceType) then
  discard(queue, id)
  writeChanges()
  return
end
endLease(queue, id)
call('INCR', key('revision'))
touch(serviceType)
if hasLiveHandler(serviceType) then
  enqueueLater(queue, id, delayMs)
else
  call('LPUSH', key('parked', serviceType), queue .. '\\n' .. id)
end
`,
});
