--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "./suspended-runs.lua"

-- Retention of runs: `retainRun(serviceType, id, status)` retains a run that has ended as long as its type says, and
-- evicts others, as `evictRun(serviceType, id, staysIndexed)` does. The end of one that a process waits for stays
-- readable until it has read it, and the end of one that was accepted or read just now for those who are about to wait, or
-- to read it again. `addWaiter(...)` and
-- `removeWaiter(...)` register these processes, `wakeWaiters(serviceType, id)` notifies them.

-- In a block of its own: a script has at most 200 local names.
local evictRun, expireRun, isExpired, retainRun
do
  local function runKeys(serviceType, id)
    local run = key('run', serviceType, id)
    return { run, run .. ':order', run .. ':checkpoints', run .. ':outputs', run .. ':waiters' }
  end

  function expireRun(serviceType, id, ms)
    for _, name in ipairs(runKeys(serviceType, id)) do call('PEXPIRE', name, ms) end
  end

  -- Those who wait for the run, are about to, or have read it just now, can read its end for so long.
  local function awaitableMs(serviceType, id, acceptedAt, readAt)
    if call('EXISTS', key('run', serviceType, id, 'waiters')) == 1 then return constants.awaitedMs end
    return math.max(math.max(tonumber(acceptedAt) or 0, tonumber(readAt) or 0) + constants.recentMs - now, 0)
  end

  function evictRun(serviceType, id, staysIndexed)
    local run = key('run', serviceType, id)
    local shown, acceptedAt, readAt = unpack(call('HMGET', run, 'shown', 'acceptedAt', 'readAt'))
    if not staysIndexed and not hasDeadLetter(serviceType, id) then unindexEvent(serviceType, id, requestIdIn(shown)) end
    local ms = shown and awaitableMs(serviceType, id, acceptedAt, readAt) or 0
    if ms > 0 then
      call('HSET', run, 'until', now)
      call('HDEL', run, 'data')
      call('DEL', run .. ':outputs')
      expireRun(serviceType, id, ms)
    else
      call('DEL', unpack(runKeys(serviceType, id)))
    end
    call('DEL', logKeys(serviceType, id))
    call('ZREM', key('runs', serviceType), id)
  end

  -- Redis deletes a run at the end of its age. Its id stays until the next run of its type ends.
  local function limitAge(serviceType, id, keepMs)
    local untilMs = now + keepMs
    local shown, acceptedAt = unpack(call('HMGET', key('run', serviceType, id), 'shown', 'acceptedAt'))
    call('HSET', key('run', serviceType, id), 'until', untilMs)
    endIndexingAt(serviceType, id, requestIdIn(shown), untilMs)
    for _, log in ipairs({ logKeys(serviceType, id) }) do call('PEXPIRE', log, keepMs) end
    expireRun(serviceType, id, math.max(keepMs, awaitableMs(serviceType, id, acceptedAt)))
  end

  function isExpired(serviceType, id)
    local untilMs = tonumber(call('HGET', key('run', serviceType, id), 'until'))
    return untilMs and untilMs <= now or not untilMs and not hasRun(serviceType, id)
  end

  function retainRun(serviceType, id, status)
    local limits = call('HMGET', key('dispatch', serviceType), 'keepCompleted', 'keepFailed', 'keepMs')
    local limit = tonumber(limits[1]) or constants.retainedCompletedRuns
    if status == 'failed' then limit = tonumber(limits[2]) or constants.retainedFailedRuns end
    if limits[3] then limitAge(serviceType, id, tonumber(limits[3])) end
    endIndexing(serviceType)
    local ended = key('ended', serviceType, status)
    call('LPUSH', ended, id)
    local excess = call('LLEN', ended) - limit
    for _ = 1, constants.maxEvictedRuns do
      local oldest = call('LINDEX', ended, -1)
      if not oldest or excess <= 0 and not isExpired(serviceType, oldest) then return end
      call('RPOP', ended)
      evictRun(serviceType, oldest)
      excess = excess - 1
    end
  end
end

local function addWaiter(serviceType, id, process)
  call('SADD', key('run', serviceType, id, 'waiters'), process)
end

local function removeWaiter(serviceType, id, process)
  local waiters = key('run', serviceType, id, 'waiters')
  if call('SREM', waiters, process) == 0 or call('EXISTS', waiters) == 1 then return end
  local run = key('run', serviceType, id)
  local leftMs = call('PTTL', run)
  if leftMs == -2 then return end
  call('HSET', run, 'readAt', now)
  if leftMs == -1 then return end
  local untilMs = tonumber(call('HGET', run, 'until') or now)
  expireRun(serviceType, id, math.max(untilMs - now, constants.repeatableMs))
end

local function notify(process, message)
  call('PUBLISH', key('run-ends', process), cjson.encode(message))
end

local function wakeWaiters(serviceType, id)
  for _, process in ipairs(call('SMEMBERS', key('run', serviceType, id, 'waiters'))) do
    notify(process, { serviceType = serviceType, id = id })
  end
end
