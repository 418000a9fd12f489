--[[
Records outcomes of leased jobs, each in one step with its follow-ups and its dead letter. Then leases jobs of a worker queue, one per token.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     maximum number of dead letters per service type, their maximum age in ms or 0, number of outcomes, (lease, 1 if the type keeps runs, 1 if the handler keeps its slot, outcome)..., queue name, lifetime of the leases in ms, token...
Reply    a commit result for each outcome; if there are tokens, the result of leaseJobs or its error
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../events/attempt-ends.lua"
--- @include "../events/event-ends.lua"
--- @include "./lease-jobs.lua"

-- `recordEnds(results)` reads and records the outcomes, and adds their commit results.

local recordEnds
do
  -- Makes the dead letter of a job that failed, and evicts the oldest over the limit.
  local function addDeadLetter(queue, id, serviceType, outcome, limits)
    local deadLetters = key('dead-letters', serviceType)
    if limits.count > 0 then
      local deadLetter = deadLetterKey(serviceType, id)
      endDedupe(queue .. id)
      freeKey(serviceType, queue .. id)
      call('RENAME', queue .. id, deadLetter)
      call('HDEL', deadLetter, 'dedupe', 'order')
      call('HSET', deadLetter, 'at', now, 'attempt', outcome.attempt, 'error', outcome.value,
        'startedAt', string.format('%.0f', now - outcome.durationMs))
      if outcome.step ~= '' then call('HSET', deadLetter, 'step', outcome.step) end
      for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
        call('COPY', key('run', serviceType, id, part), deadLetter .. ':' .. part)
      end
      call('ZADD', deadLetters, call('INCR', key('sequence')), id)
      if limits.ageMs > 0 then
        call('ZADD', key('expiring', serviceType), now + limits.ageMs, id)
        endIndexingAt(serviceType, id, outcome.requestId, now + limits.ageMs)
        for _, name in ipairs(deadLetterKeys(serviceType, id)) do call('PEXPIREAT', name, now + limits.ageMs) end
      end
    end
    forgetExpired(serviceType)
    local excess = call('ZCARD', deadLetters) - limits.count
    if excess <= 0 then return end
    -- A lowered limit leaves many to evict: each call evicts some, because nothing else runs meanwhile.
    for _, oldest in ipairs(call('ZRANGE', deadLetters, 0, math.min(excess, constants.maxEvictedDeadLetters) - 1)) do
      deleteDeadLetter(serviceType, oldest)
    end
  end

  local function takeEnd()
    return {
      queue = take(), id = take(), token = take(), starts = take(), serviceType = take(),
      retainsRuns = take() == '1', holdsSlot = take() == '1', outcome = takeOutcome(),
    }
  end

  local function recordEnd(ended, limits)
    local queue, id, token, starts, serviceType = ended.queue, ended.id, ended.token, ended.starts, ended.serviceType
    local result, job = leaseOf(queue, id, token, starts, serviceType)
    if result == 'ok' then
      local outcome = ended.outcome
      -- The event may have been accepted while its type kept runs.
      local retainsRuns = ended.retainsRuns
        or stateOf(serviceType).hadRuns and call('EXISTS', key('run', serviceType, id)) == 1
      outcome.acceptedAt, outcome.attempts, outcome.isDeduplicated = job[2], job[3], (job[4] or job[5]) and true
      outcome.isFirstStart = tonumber(starts) == (tonumber(job[6]) or 0) + 1
      -- Before the end of the event frees its key.
      if ended.holdsSlot then
        keepSlot(serviceType, token, id, starts, queue .. id)
      else
        countReturned(serviceType)
      end
      local endsEvent = outcome.status == 'completed' or outcome.status == 'failed'
      if endsEvent then leaveActive(queue, id) else endLease(queue, id) end
      if outcome.status == 'failed' and not outcome.isCancelled then
        addDeadLetter(queue, id, serviceType, outcome, limits)
      end
      outcome.isUnseen = outcome.status == 'completed' and not retainsRuns and #outcome.followUps == 0
      endAttempt(queue, id, serviceType, retainsRuns, outcome)
    elseif not ended.holdsSlot and dropSlot(serviceType, overdueLease(token, id, starts)) then
      -- Another process has ended the event, and the handler returned before it heard of that. The next event of its key may start.
      countReturned(serviceType)
      changedTypes[serviceType] = true
    end
    return result
  end

  function recordEnds(results)
    local limits, ends, jobs = { count = takeNumber(), ageMs = takeNumber() }, {}, {}
    for index = 1, takeNumber() do
      ends[index] = takeEnd()
      jobs[index] = ends[index].queue .. ends[index].id
    end
    readLocks(jobs)
    for index, ended in ipairs(ends) do results[index] = recordEnd(ended, limits) end
  end
end

--- @per-call
local results = {}
local isRecorded, broken = pcall(recordEnds, results)
-- What is recorded is whole, whatever a broken record does to the rest.
deleteEnded()
arrangeTypes()
writeChanges()
if not isRecorded then error(broken) end
local name, lifetimeMs = take(), take()
if position == #ARGV then return { results } end
-- The outcomes are recorded, and their results must reach the caller.
local _, leased = pcall(leaseJobs, name, lifetimeMs)
return { results, leased }
