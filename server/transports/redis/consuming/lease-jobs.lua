--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../jobs/newer-runs.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"

-- `moveDue(queueName)` moves what is due into the gates, and returns the next due time. `takeTurn(queueName, count, start)`
-- makes the events active whose turn it is, at most `count`; it returns if others are left,
-- and if it may have changed a due time. `start(id, serviceType)` returns `false` if the event
-- is gone, and `nil` to take no further one. `addActive(name, ids)` adds events to the list of active ones.

local function nextDueTime(name)
  return tonumber(call('ZRANGE', key('due', name), '0', '0', 'WITHSCORES')[2])
end

local moveDue, takeTurn, addActive
do
  local function enterDue(name)
    local left = constants.maxDuePerFetch
    for _, serviceType in ipairs(call('ZRANGEBYSCORE', key('due', name), '-inf', now, 'LIMIT', 0, left)) do
      if left <= 0 then break end
      local delayed = key('delayed', serviceType)
      local ids = call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, left)
      for _, id in ipairs(ids) do
        local queue = jobQueue(serviceType, id)
        call('ZREM', delayed, id)
        if queue then
          local order, window = unpack(call('HMGET', queue .. id, 'order', 'window'))
          if window then closeWindow(serviceType, id) end
          enterGate(serviceType, id, order)
        end
      end
      if #ids > 0 then changesOf(serviceType) end
      left = left - #ids - 1
      if left > 0 and stateOf(serviceType).hasTimers then left = left - resolveDue(serviceType, left) end
      arrange(serviceType)
    end
    writeChanges()
  end

  function moveDue(name)
    local dueAt = nextDueTime(name)
    if not dueAt or dueAt > now then return dueAt end
    enterDue(name)
    return nextDueTime(name)
  end

  function addActive(name, ids)
    if #ids > 0 then call('LPUSH', queueKey(name) .. 'active', unpack(ids)) end
  end

  local function takeLimited(name, serviceType, turn, start)
    local id, keyName = takeFromGate(serviceType)
    if not id then
      endTurn(serviceType)
      call('ZREM', key('turns', name), serviceType)
    elseif start(id, serviceType) then
      addActive(name, { id })
      call('SET', key('turn', name), turn)
      countTaken(serviceType, 1)
      countStart(serviceType)
      if keyName then
        countKeyStart(serviceType, queueKey(name) .. id, keyName)
        arrangeKeyQueue(serviceType, keyName)
      end
      call('ZADD', key('turns', name), turn + 1, serviceType)
      arrange(serviceType)
    elseif keyName then
      arrangeKeyQueue(serviceType, keyName)
    end
  end

  -- A type that is alone has all turns. Only its concurrency limits it.
  local function takePlain(name, serviceType, most, start)
    local gate, state = key('gate', serviceType), stateOf(serviceType)
    local count = state.concurrency and math.max(math.min(most, state.concurrency - state.taken), 0) or most
    local ids = call('ZRANGE', gate, '0', count)
    local taken, started = 0, {}
    for index = 1, math.min(#ids, count) do
      local isStarted = start(ids[index], serviceType)
      if isStarted == nil then break end
      taken = index
      if isStarted then started[#started + 1] = ids[index] end
    end
    if taken > 0 then call('ZREM', gate, unpack(ids, 1, taken)) end
    addActive(name, started)
    countTaken(serviceType, #started)
    return #ids > taken and (not state.concurrency or state.taken < state.concurrency)
  end

  function takeTurn(name, count, start)
    local turns = key('turns', name)
    local first = call('ZRANGE', turns, '0', '1', 'WITHSCORES')
    local serviceType, turn, isAlone = first[1], first[2], #first == 2
    if not serviceType then return false end
    local state = stateOf(serviceType)
    if state.max or state.hadKeys then
      takeLimited(name, serviceType, turn, start)
      return call('EXISTS', turns) == 1, true
    elseif not takePlain(name, serviceType, isAlone and count or 1, start) then
      call('SET', key('turn', name), turn)
      call('HSET', key('dispatch', serviceType), 'turn', turn)
      call('ZREM', turns, serviceType)
      return not isAlone
    elseif not isAlone then
      call('SET', key('turn', name), turn)
      call('ZADD', turns, turn + 1, serviceType)
    end
    return true
  end
end

-- `leaseJobs(name, lifetimeMs)` takes the place of `moveToActive` of BullMQ: it takes events from the gates, several per
-- call, and leaves the queue as the other scripts of BullMQ expect it. It leases jobs of a worker queue, one per token of
-- the remaining arguments: first those that were lost or released, then runs that waited for the version of the process,
-- then events from the gates. It stops after `maxBatchLength` characters.
--
-- It returns jobs, and milliseconds until the next due time or nothing; 0 if it stopped early. A job is its id, type,
-- data, time of acceptance, number of starts, of ended attempts and of losses, and 1 if its service has admitted it.

local leaseJobs
do
  local queue, count, lifetimeMs, process, jobs, length

  local function hasRoom()
    return #jobs < count and length <= constants.maxBatchLength
  end

  local function readJob(job)
    local fields = call('HMGET', job, 'name', 'data', 'timestamp', 'ats', 'atm', 'stc', 'leased', 'needs', 'admitted')
    return (fields[1] or fields[2] or fields[3]) and fields
  end

  -- An event that another queue accepted moves into this one.
  local function moveJob(id, serviceType)
    local from = jobQueue(serviceType, id)
    if not from then return nil end
    call('RENAME', from .. id, queue .. id)
    local run = key('run', serviceType, id)
    if call('EXISTS', run) == 1 then call('HSET', run, 'queue', queue) end
    return readJob(queue .. id)
  end

  -- Returns `true` if the process cannot run the job, which then waits for one that can.
  local function leavesToNewer(id, serviceType, needs)
    local owner = serviceType or call('HGET', queue .. id, 'serviceType')
    if not owner or versionOf(owner, process) >= tonumber(needs) then return false end
    holdOnToKey(owner, queue .. id)
    awaitVersion(owner, id, needs)
    if not serviceType then
      countReturned(owner)
      arrange(owner)
    end
    return true
  end

  -- A job that was lost returns to the gate if its type is paused or has a rate, with no attempt spent: each start has to
  -- have room in the window.
  local function returnsToGate(id)
    local owner, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
    if not owner or not stateOf(owner).isPaused and not isRated(owner) then return false end
    countReturned(owner)
    holdOnToKey(owner, queue .. id)
    enterGate(owner, id, order)
    arrange(owner)
    changesOf(owner)
    writeChanges()
    return true
  end

  local function start(id, serviceType)
    if not hasRoom() then return nil end
    local job = queue .. id
    if not serviceType and returnsToGate(id) then return false end
    local fields = readJob(job) or serviceType and moveJob(id, serviceType)
    if not fields or fields[8] and leavesToNewer(id, serviceType, fields[8]) then return false end
    -- Something else may have changed the fields.
    local type, data, starts = fields[1] or '', fields[2] or '', '1'
    if fields[4] then starts = string.format('%d', (tonumber(fields[4]) or 0) + 1) end
    locks[job] = take()
    call('SET', job .. ':lock', locks[job], 'PX', lifetimeMs)
    if isInterrupted(fields[7], fields[4]) then noteInterruption(job) end
    call('HSET', job, 'processedOn', nowText, 'ats', starts, 'leased', starts)
    jobs[#jobs + 1] = { id, type, data, string.match(fields[3] or '', '^%d+$') or nowText, starts, tonumber(fields[5]) or 0,
      tonumber(fields[6]) or 0, fields[9] == '1' and 1 or 0 }
    length = length + #data
    return true
  end

  local function takeNewer(name, serviceType)
    local ids = call('ZRANGEBYSCORE', key('newer', serviceType), '-inf', versionOf(serviceType, process), 'LIMIT', 0, count - #jobs)
    for _, id in ipairs(ids) do
      local opens, from = opensAt(serviceType), jobQueue(serviceType, id)
      if not hasRoom() or not opens or opens > now then break end
      -- It holds its key. Beside it too many may run: the limit may have been lowered.
      if not from or mayRunOn(serviceType, from .. id) then
        leaveNewer(serviceType, id)
        if keyRateOpensAt(serviceType, keyNameOf(serviceType, id)) > now then
          enterGate(serviceType, id, call('HGET', from .. id, 'order'))
        elseif start(id, serviceType) then
          addActive(name, { id })
          countTaken(serviceType, 1)
          countStart(serviceType)
          if stateOf(serviceType).keys then countKeyStart(serviceType, queue .. id, keyNameOf(serviceType, id)) end
        end
      end
    end
    if #ids > 0 then arrange(serviceType) end
  end

  function leaseJobs(name, ms)
    queue, count, lifetimeMs, jobs, length = queueKey(name), #arguments - position, ms, {}, 0
    process = processOf(arguments[position + 1])
    local dueAt, isDueStale = moveDue(name), false
    local mayWait, hasTurns = true, true
    while mayWait and hasRoom() do
      local id = call('RPOPLPUSH', queue .. 'wait', queue .. 'active')
      mayWait = id and true or false
      if id and not start(id) then call('LREM', queue .. 'active', 1, id) end
    end
    for _, serviceType in ipairs(call('SMEMBERS', key('newer-types', serviceOf(name)))) do
      if hasRoom() and stateOf(serviceType).queue == name then
        takeNewer(name, serviceType)
        isDueStale = true
      end
    end
    while hasTurns and hasRoom() do
      local mayChangeDue
      hasTurns, mayChangeDue = takeTurn(name, count - #jobs, start)
      isDueStale = isDueStale or mayChangeDue
    end

    if isDueStale then dueAt = nextDueTime(name) end
    -- Another worker may have to take what is left, or to learn the due time.
    if #jobs > 0 and (dueAt or mayWait or hasTurns) then wakeWorker(queue) end
    local stoppedEarly = #jobs < count and not hasRoom()
    return { jobs, stoppedEarly and 0 or dueAt and math.ceil(math.max(dueAt - now, 0)) or false }
  end
end
