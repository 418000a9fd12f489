import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { attemptEnds } from './attempt-ends.js';
import { runRetention } from './run-fragments.js';

export const endRunScript: Script = new Script({
  purpose: 'Ends a run, leased or not, and the child runs that it waits for.',
  argv: 'service type, job id, reason as JSON, outcome',
  reply: 'a commit result; fenced if the run is unknown',
  includes: [prelude, counters, attemptEnds, runRetention],
  lua: `
local function endTree(serviceType, id, outcome, reason)
  local queue, status, attempt = unpack(call('HMGET', key('run', serviceType, id), 'queue', 'status', 'attempt'))
  if not queue then return 'fenced' end
  if status then return 'already' end
  outcome.attempt = tonumber(attempt)
  local token = call('GET', queue .. id .. ':lock')
  local waits = dropWaits(serviceType, id)
  withdraw(queue, id, serviceType)
  endAttempt(queue, id, serviceType, true, outcome)
  if token then
    notify(processOf(token), { serviceType = serviceType, id = id, reason = reason })
  end
  if outcome.status ~= 'failed' then return 'ok' end
  for _, wait in ipairs(waits) do
    if wait.child then
      local followUps = {}
      for index, stored in ipairs(cjson.decode(wait.onCancel or '[]')) do followUps[index] = readFrom(stored, takeEmit) end
      endTree(wait.child.serviceType, wait.child.id, {
        status = 'failed', isCancelled = true, value = outcome.value, bucket = outcome.bucket,
        durationMs = outcome.durationMs, followUps = followUps,
      }, reason)
    end
  end
  return 'ok'
end

local serviceType, id, reason = take(), take(), take()
local result = endTree(serviceType, id, takeOutcome(), reason)
arrangeTypes()
writeChanges()
return result
`,
});
