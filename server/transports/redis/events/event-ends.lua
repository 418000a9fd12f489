--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-retention.lua"
--- @include "../runs/run-waits.lua"

-- Deduplication ids, and keys of events with an overlap. One is remembered for its window, which a key does not have,
-- and until its events have ended in every service. `forgetDedupe(dedupe)` ends the memory, or lets it end with the window;
-- `endDedupe(job)` counts an end.

local function forgetDedupe(dedupe)
  local untilMs = tonumber(call('HGET', dedupe, 'until'))
  if untilMs > now then call('PEXPIREAT', dedupe, untilMs) else call('DEL', dedupe) end
end

local function endDedupe(job)
  for _, dedupe in ipairs(call('HMGET', job, 'dedupe', 'overlap')) do
    if dedupe and call('EXISTS', dedupe) == 1 and call('HINCRBY', dedupe, 'pending', -1) <= 0 then forgetDedupe(dedupe) end
  end
end

-- Ends of events: `endJob(...)` records one without its follow-ups, `withdraw(...)` takes the job from where it stands. Jobs
-- whose end nothing else sees are deleted together by `deleteEnded()`, and at the latest before another event ends.

local endedJobs
local function deleteEnded()
  if #endedJobs == 0 then return end
  call('DEL', unpack(endedJobs))
  endedJobs = {}
end

-- In a block of its own: a script has at most 200 local names.
local completeOutcome, endJob
do
  local function endRun(serviceType, id, outcome)
    local parent = call('HGET', key('run', serviceType, id), 'parent')
    dropWaits(serviceType, id)
    call('HSET', key('run', serviceType, id), 'status', outcome.status, 'endedAt', now, 'value', outcome.value)
    if outcome.attempts then call('HSET', key('run', serviceType, id), 'attempts', outcome.attempts) end
    -- One that the service refused would take the place of others. It is among the ended events.
    if outcome.isFiltered then evictRun(serviceType, id, true) else retainRun(serviceType, id, outcome.status) end
    wakeWaiters(serviceType, id)
    if parent then resolveByRun(parent, id, outcome) end
  end

  -- Reads what an outcome does not tell, before its job is deleted.
  function completeOutcome(queue, id, serviceType, outcome)
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

  function endJob(queue, id, serviceType, retainsRuns, outcome)
    local isComplete = outcome.acceptedAt or retainsRuns and (outcome.requestId or '') ~= ''
    if not isComplete then completeOutcome(queue, id, serviceType, outcome) end
    -- Of a run without an outcome of its own: they are read where they are rare.
    if retainsRuns and outcome.attempts == nil then outcome.attempts = call('HGET', queue .. id, 'attempts') end
    if outcome.isDeduplicated ~= false then endDedupe(queue .. id) end
    if outcome.status == 'failed' and not outcome.isCancelled then addFailure(id, serviceType, outcome) end
    local job = queue .. id
    freeKey(serviceType, job)
    endedJobs[#endedJobs + 1] = job
    endedJobs[#endedJobs + 1] = job .. ':lock'
    if not outcome.isUnseen then deleteEnded() end
    if outcome.status == 'failed' then countOne(serviceType, 'f') else countOne(serviceType, outcome.isTimed and 'e' .. outcome.bucket or 'c') end
    if outcome.isCancelled then countOne(serviceType, 'x') end
    if outcome.isFiltered then countOne(serviceType, 'i') end
    if retainsRuns then endRun(serviceType, id, outcome) end
    if not retainsRuns or outcome.isFiltered then logEnd(serviceType, id, outcome) end
  end
end

-- Ends the lease of a job, or takes it out of the gate.
local function withdraw(queue, id, serviceType)
  if leaveGate(serviceType, id) then return end
  if endLease(queue, id) + call('LREM', queue .. 'wait', 1, id) > 0 then countReturned(serviceType) end
end

-- `interrupt(queue, id, serviceType, reason)` takes a job from where it stands. If a process has it, the slots of the lease
-- are taken until its handler has returned.

local function interrupt(queue, id, serviceType, reason)
  local token = lockOf(queue .. id)
  if not token then return withdraw(queue, id, serviceType) end
  local starts = call('HGET', queue .. id, 'ats')
  keepSlot(serviceType, token, id, starts, queue .. id, reason)
  endLease(queue, id)
  notify(processOf(token), {
    queue = queue, serviceType = serviceType, id = id, token = token, starts = starts, reason = reason,
  })
end

--- @per-call
endedJobs = {}
