--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/newer-runs.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"
--- @include "../runs/suspended-runs.lua"
--- @include "./acceptance.lua"
--- @include "./event-ends.lua"

-- Ends of attempts: `takeOutcome()` reads what `outcomeArguments` writes, `endAttempt(...)` records an outcome with its
-- follow-ups.

local function takeOutcome()
  local outcome = {
    status = take(), attempt = takeNumber(), bucket = take(), durationMs = takeNumber(), delayedMs = takeNumber(),
  }
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
  if outcome.status == 'filtered' then outcome.status, outcome.isFiltered = 'completed', true end
  outcome.value, outcome.requestId, outcome.causeId = take(), take(), take()
  if outcome.status == 'failed' then outcome.step = take() end
  outcome.followUps = {}
  for index = 1, takeNumber() do outcome.followUps[index] = takeEmit() end
  return outcome
end

local function endAttempt(queue, id, serviceType, retainsRuns, outcome)
  changesOf(serviceType)
  local function countOwnWait()
    countWait(serviceType, now - outcome.durationMs - outcome.acceptedAt - outcome.delayedMs)
  end
  -- A run may have been suspended since its first start.
  if retainsRuns and outcome.isFirstStart and not outcome.isCancelled then countOwnWait() end
  if outcome.status == 'suspended' then
    endStart(queue, id)
    holdOnToKey(serviceType, queue .. id)
    if call('LLEN', key('run', serviceType, id, 'order')) > outcome.seen or #offersOf(serviceType, id) > 0 then
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
    if outcome.isFiltered then
      uncountStart(serviceType, queue .. id)
    else
      if outcome.status == 'completed' then outcome.isTimed = true else countOne(serviceType, 'd' .. outcome.bucket) end
      noteDuration(serviceType, outcome.durationMs)
    end
    if outcome.attempt == 1 and not retainsRuns then
      if not outcome.acceptedAt then completeOutcome(queue, id, serviceType, outcome) end
      if outcome.acceptedAt then countOwnWait() end
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
