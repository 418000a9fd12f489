import { type ErrorInfo, errorInfo } from '../../../errors.js';
import { RetiredError } from '../../errors.js';
import { keptFailures } from '../../limits.js';
import { prelude } from '../connection/keys.js';
import { LuaFragment, Script } from '../connection/script.js';
import { attempts } from '../jobs/attempts.js';
import { deadLetters } from '../jobs/dead-letter-fragments.js';
import { dedupe, eventLog } from '../jobs/event-log.js';
import { leases } from '../jobs/queue-jobs.js';
import { runRetention } from '../runs/run-records.js';
import { runWaits } from '../runs/run-waits.js';
import { runSuspension } from '../runs/suspended-runs.js';
import { counters } from '../statistics/counters.js';
import { acceptance } from './acceptance.js';

/**
 * Ends of attempts: `takeOutcome()` reads what `outcomeArguments` writes, `endAttempt(...)` records an outcome with its
 * follow-ups, `withdraw(...)` takes the job from where it stands, `endJob(...)` only ends the event.
 */
export const attemptEnds: LuaFragment = new LuaFragment(
  `
local function takeOutcome()
  local outcome = { status = take(), attempt = takeNumber(), bucket = take(), durationMs = takeNumber() }
  if outcome.status == 'retry' or outcome.status == 'released' then
    outcome.delayMs = takeNumber()
    if outcome.status == 'retry' then outcome.value = take() end
    return outcome
  end
  if outcome.status == 'suspended' then
    outcome.seen = takeNumber()
    return outcome
  end
  if outcome.status == 'cancelled' then outcome.status, outcome.isCancelled = 'failed', true end
  outcome.value, outcome.requestId, outcome.causeId = take(), take(), take()
  if outcome.status == 'failed' then outcome.step = take() end
  outcome.followUps = {}
  for index = 1, takeNumber() do outcome.followUps[index] = takeEmit() end
  return outcome
end

local function endRun(serviceType, id, outcome)
  local parent = call('HGET', key('run', serviceType, id), 'parent')
  dropWaits(serviceType, id)
  call('HSET', key('run', serviceType, id), 'status', outcome.status, 'endedAt', now, 'value', outcome.value)
  if outcome.attempts then call('HSET', key('run', serviceType, id), 'attempts', outcome.attempts) end
  retainRun(serviceType, id, outcome.status)
  wakeWaiters(serviceType, id)
  if parent then resolveByRun(parent, id, outcome) end
end

-- Reads what an outcome does not tell, before its job is deleted.
local function completeOutcome(queue, id, serviceType, outcome)
  local job = queue .. id
  outcome.acceptedAt, outcome.attempts = unpack(call('HMGET', job, 'timestamp', 'attempts'))
  if not outcome.acceptedAt then
    job = deadLetterKey(serviceType, id)
    outcome.acceptedAt, outcome.attempts = unpack(call('HMGET', job, 'timestamp', 'attempts'))
  end
  if (outcome.requestId or '') ~= '' then return end
  local data = call('HGET', job, 'data')
  outcome.requestId, outcome.causeId = requestIdIn(data) or '""', causeIdIn(data)
end

local function addFailure(queue, id, serviceType, outcome)
  local failures = key('failures', serviceType)
  local failure = { id = id, at = now, attempt = outcome.attempt, error = outcome.value }
  failure.requestId = outcome.requestId
  if outcome.step ~= '' then failure.step = outcome.step end
  call('LPUSH', failures, cjson.encode(failure))
  call('LTRIM', failures, 0, ${keptFailures - 1})
end

local function endJob(queue, id, serviceType, retainsRuns, outcome)
  local isComplete = outcome.acceptedAt or retainsRuns and (outcome.requestId or '') ~= ''
  if not isComplete then completeOutcome(queue, id, serviceType, outcome) end
  -- Of a run without an outcome of its own: they are read where they are rare.
  if retainsRuns and outcome.attempts == nil then outcome.attempts = call('HGET', queue .. id, 'attempts') end
  if outcome.isDeduplicated ~= false then endDedupe(queue .. id) end
  if outcome.status == 'failed' and not outcome.isCancelled then addFailure(queue, id, serviceType, outcome) end
  local job = queue .. id
  freeKey(serviceType, job)
  call('DEL', job, job .. ':lock')
  if outcome.status == 'failed' then countOne(serviceType, 'f') else countOne(serviceType, outcome.isTimed and 'e' .. outcome.bucket or 'c') end
  if outcome.isCancelled then countOne(serviceType, 'x') end
  if retainsRuns then endRun(serviceType, id, outcome) else logEnd(serviceType, id, outcome) end
end

-- Ends the lease of a job, or takes it out of the gate.
local function withdraw(queue, id, serviceType)
  if leaveGate(serviceType, id) then return end
  if endLease(queue, id) + call('LREM', queue .. 'wait', 1, id) > 0 then countReturned(serviceType) end
end

local function endAttempt(queue, id, serviceType, retainsRuns, outcome)
  changesOf(serviceType)
  if outcome.status == 'suspended' then
    endStart(queue, id)
    holdOnToKey(serviceType, queue .. id)
    if call('LLEN', key('run', serviceType, id, 'order')) > outcome.seen then
      enterGate(serviceType, id, call('HGET', queue .. id, 'order'))
    else
      suspendRun(queue, id, serviceType)
    end
    return
  end
  if outcome.status == 'released' then
    endStart(queue, id)
    enterLater(serviceType, id, outcome.delayMs)
    holdOnToKey(serviceType, queue .. id)
    return
  end
  if not outcome.isCancelled then
    if outcome.status == 'completed' then outcome.isTimed = true else countOne(serviceType, 'd' .. outcome.bucket) end
    -- A run may have been suspended since its first start.
    if outcome.attempt == 1 and not retainsRuns then
      if not outcome.acceptedAt then completeOutcome(queue, id, serviceType, outcome) end
      if outcome.acceptedAt then countWait(serviceType, now - outcome.durationMs - outcome.acceptedAt) end
    end
  end
  if outcome.status == 'retry' then
    countOne(serviceType, 't')
    call('HINCRBY', queue .. id, 'atm', 1)
    endStart(queue, id)
    if retainsRuns then
      call('HINCRBY', key('run', serviceType, id), 'attempt', 1)
    else
      noteAttempt(queue .. id, outcome.attempt, now - outcome.durationMs, outcome.value)
    end
    enterLater(serviceType, id, outcome.delayMs)
    holdOnToKey(serviceType, queue .. id)
  else
    endJob(queue, id, serviceType, retainsRuns, outcome)
    for _, envelope in ipairs(outcome.followUps) do acceptEmit(envelope) end
  end
end
`,
  [acceptance, attempts, deadLetters, dedupe, eventLog, leases, runRetention, runSuspension, runWaits],
);

/**
 * `endTree(serviceType, id, outcome, reason)` ends a run, leased or not, and the child runs that it waits for. Processes
 * that run one of them receive the reason, an error as JSON. Returns a commit result.
 */
export const runTrees: LuaFragment = new LuaFragment(
  `
local function endTree(serviceType, id, outcome, reason)
  restoreRun(serviceType, id)
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
`,
  [attemptEnds, runRetention, runSuspension],
);

const failure: ErrorInfo = errorInfo(new RetiredError());

/** `discard(queue, id)` fails a job of a service type that was retired. */
export const discarding: LuaFragment = new LuaFragment(
  `
local function discard(queue, id)
  local serviceType, attempts = unpack(call('HMGET', queue .. id, 'serviceType', 'atm'))
  withdraw(queue, id, serviceType)
  local retainsRuns = call('EXISTS', key('run', serviceType, id)) == 1
  local outcome = { status = 'failed', attempt = (attempts or 0) + 1, value = [=[${JSON.stringify(failure)}]=] }
  endJob(queue, id, serviceType, retainsRuns, outcome)
end
`,
  [attemptEnds],
);

export const endRunScript: Script = new Script({
  name: 'endRun',
  access: 'works',
  purpose: 'Ends a run, leased or not, and the child runs that it waits for.',
  argv: 'service type, job id, reason as JSON, outcome',
  reply: 'a commit result; fenced if the run is unknown',
  includes: [prelude, counters, runTrees],
  lua: `
local serviceType, id, reason = take(), take(), take()
local result = endTree(serviceType, id, takeOutcome(), reason)
arrangeTypes()
writeChanges()
return result
`,
});
