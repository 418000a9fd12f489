import { counters } from '../counting/counters.js';
import { deadLetterMoves } from '../dead-letters/dead-letter-fragments.js';
import { leaseJobs } from '../gate/lease-jobs.js';
import { leases } from '../jobs/queue-moves.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { attemptEnds } from './attempt-ends.js';
import { overdueSlots } from './overdue-slots.js';

export const advanceJobsScript: Script = new Script({
  name: 'advanceJobs',
  access: 'works',
  purpose:
    'Records outcomes of leased jobs, each in one step with its follow-ups and its dead letter. Then leases jobs of a worker queue, one per token.',
  argv: 'maximum number of dead letters per service type, their maximum age in ms or 0, number of outcomes, (lease, 1 if the type keeps runs, 1 if the handler keeps its slot, outcome)..., queue name, lifetime of the leases in ms, token...',
  reply: 'a commit result for each outcome; if there are tokens, the result of leaseJobs or its error',
  includes: [prelude, counters, leases, attemptEnds, overdueSlots, deadLetterMoves, leaseJobs],
  lua: `
local limits = takeDeadLetterLimits()
local results = {}
for index = 1, takeNumber() do
  local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
  local keepsRuns, keepsSlot = take() == '1', take() == '1'
  local outcome = takeOutcome()
  local result, job = leaseOf(queue, id, token, starts, serviceType)
  if result == 'ok' then
    -- The event may have been accepted while its type kept runs.
    keepsRuns = keepsRuns or stateOf(serviceType).hadRuns and call('EXISTS', key('run', serviceType, id)) == 1
    outcome.acceptedAt, outcome.attempts, outcome.isDeduplicated = job[2], job[3], job[4] and true
    -- Before the end of the event frees its key.
    if keepsSlot then keepSlot(serviceType, token, id, starts, queue .. id) else countReturned(serviceType) end
    local endsEvent = outcome.status == 'completed' or outcome.status == 'failed'
    if endsEvent then leaveActive(queue, id) else endLease(queue, id) end
    if outcome.status == 'failed' and not outcome.isCancelled then
      addDeadLetter(queue, id, serviceType, outcome, limits)
    end
    endAttempt(queue, id, serviceType, keepsRuns, outcome)
  end
  results[index] = result
end
arrangeTypes()
writeChanges()
local name, lifetimeMs = take(), take()
if position == #ARGV then return { results } end
-- The outcomes are recorded, and their results must reach the caller.
local _, leased = pcall(leaseJobs, name, lifetimeMs)
return { results, leased }
`,
});
