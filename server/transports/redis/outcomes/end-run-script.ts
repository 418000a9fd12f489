import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { attemptEnds } from './attempt-ends.js';
import { runRetention } from './run-fragments.js';

export const endRunScript: Script = new Script({
  purpose: 'Ends a run, leased or not.',
  argv: 'service type, job id, reason as JSON, outcome',
  reply: 'a commit result; fenced if the run is unknown',
  includes: [prelude, counters, attemptEnds, runRetention],
  lua: `
local serviceType, id, reason = take(), take(), take()
local outcome = takeOutcome()
local queue, status, attempt = unpack(call('HMGET', key('run', serviceType, id), 'queue', 'status', 'attempt'))
if not queue then return 'fenced' end
if status then return 'already' end
outcome.attempt = tonumber(attempt)
local token = call('GET', queue .. id .. ':lock')
withdraw(queue, id, serviceType)
endAttempt(queue, id, serviceType, true, outcome)
if token then
  notify(processOf(token), { serviceType = serviceType, id = id, reason = reason })
end
arrangeTypes()
writeChanges()
return 'ok'
`,
});
