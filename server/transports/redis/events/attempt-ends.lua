--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "../jobs/dead-letters.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/newer-runs.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-retention.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./acceptance.lua"

-- Ends of attempts: `takeOutcome()` reads what `outcomeArguments` writes, `endAttempt(...)` records an outcome with its
-- follow-ups, `withdraw(...)` takes the job from where it stands, `endJob(...)` only ends the event.

local function takeOutcome()
  local outcome = { status = take(), attempt = takeNumber(), bucket = take(), durationMs = takeNumber() }
  if outcome.status == 'retry' or outcome.status == 'released' then
    outcome.delayMs = takeNumber()
    if outcome.status == 'retry' then outcome.value = take() else outcome.version = takeNumber() end
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

local function addFailure(id, serviceType, outcome)
  local failures = key('failures', serviceType)
  local failure = { id = id, at = now, attempt = outcome.attempt, error = outcome.value }
  failure.requestId = outcome.requestId
  if outcome.step ~= '' then failure.step = outcome.step end
  call('LPUSH', failures, cjson.encode(failure))
  call('LTRIM', failures, 0, constants.retainedFailures - 1)
end

local function endJob(queue, id, serviceType, retainsRuns, outcome)
  local isComplete = outcome.acceptedAt or retainsRuns and (outcome.requestId or '') ~= ''
  if not isComplete then completeOutcome(queue, id, serviceType, outcome) end
  -- Of a run without an outcome of its own: they are read where they are rare.
  if retainsRuns and outcome.attempts == nil then outcome.attempts = call('HGET', queue .. id, 'attempts') end
  if outcome.isDeduplicated ~= false then endDedupe(queue .. id) end
  if outcome.status == 'failed' and not outcome.isCancelled then addFailure(id, serviceType, outcome) end
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
    holdOnToKey(serviceType, queue .. id)
    if outcome.version > 0 then
      call('HSET', queue .. id, 'needs', outcome.version)
      awaitVersion(serviceType, id, outcome.version)
    else
      enterLater(serviceType, id, outcome.delayMs)
    end
    return
  end
  if not outcome.isCancelled then
    if outcome.status == 'completed' then outcome.isTimed = true else countOne(serviceType, 'd' .. outcome.bucket) end
    noteDuration(serviceType, outcome.durationMs)
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
