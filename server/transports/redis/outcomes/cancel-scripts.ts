import { counters } from '../counting/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { runTrees } from './run-trees.js';

/** `standsWaiting(serviceType, queue, id)`: if a job waits for its start, its delay or its retry. */
const waiting = new LuaFragment(
  `
local function standsWaiting(serviceType, queue, id)
  for _, kind in ipairs({ 'gate', 'delayed' }) do
    if call('ZSCORE', key(kind, serviceType), id) then return true end
  end
  local lineKey = call('HGET', queue .. id, 'key') or ''
  if call('ZSCORE', key('line', serviceType, lineKey), id) then return true end
  return call('LPOS', queue .. 'wait', id) and true or false
end
`,
  [prelude],
);

export const findWaitingScript: Script = new Script({
  name: 'findWaiting',
  access: 'reads',
  purpose: 'Finds an event of a service that waits.',
  argv: 'service, job id',
  reply: 'queue, service type, data of the job; nothing if no such event waits',
  includes: [prelude, waiting],
  lua: `
local service, id = take(), take()
local names = call('SMEMBERS', key('subscribed', service))
names[#names + 1] = service
for _, name in ipairs(names) do
  local queue = queueKey(name)
  local serviceType, data = unpack(call('HMGET', queue .. id, 'serviceType', 'data'))
  if serviceType and standsWaiting(serviceType, queue, id) then return { queue, serviceType, data } end
end
return nil
`,
});

export const cancelScript: Script = new Script({
  name: 'cancel',
  access: 'works',
  purpose: 'Ends an event, and the child runs that it waits for, if it still waits, and as the caller read it.',
  argv: 'queue, job id, service type, data of the job, outcome',
  reply: '1; 0 if it does not',
  includes: [prelude, counters, runTrees, waiting],
  lua: `
local queue, id, serviceType, data = take(), take(), take(), take()
local outcome = takeOutcome()
if call('HGET', queue .. id, 'data') ~= data or not standsWaiting(serviceType, queue, id) then return 0 end
outcome.attempt = tonumber(call('HGET', queue .. id, 'atm') or 0) + 1
if call('EXISTS', key('run', serviceType, id)) == 1 then
  endTree(serviceType, id, outcome, outcome.value)
else
  withdraw(queue, id, serviceType)
  endAttempt(queue, id, serviceType, false, outcome)
end
arrangeTypes()
writeChanges()
return 1
`,
});
