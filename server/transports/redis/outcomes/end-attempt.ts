/** How jobs end. Needs `counting`, `lanes` and `acceptance`. */
export const conclusion = `
local function takeOutcome()
  local outcome = { status = take(), attempt = takeNumber(), bucket = take(), durationMs = takeNumber() }
  if outcome.status == 'retry' then
    outcome.delayMs = takeNumber()
    return outcome
  end
  outcome.value = take()
  outcome.followUps = {}
  for index = 1, takeNumber() do outcome.followUps[index] = takeEnvelope() end
  return outcome
end

local endedKept = 50
local function endRun(unit, id, outcome)
  local run = prefix .. ':run:' .. unit .. ':' .. id
  call('HSET', run, 'status', outcome.status, 'endedAt', now, 'value', outcome.value)
  local ended = prefix .. ':ended:' .. unit
  call('LPUSH', ended, id)
  for _, oldest in ipairs(call('LRANGE', ended, endedKept, -1)) do
    local old = prefix .. ':run:' .. unit .. ':' .. oldest
    call('DEL', old, old .. ':checkpoints')
    call('ZREM', prefix .. ':runs:' .. unit, oldest)
  end
  call('LTRIM', ended, 0, endedKept - 1)
end

local function announceEnd(unit, id, reason)
  call('PUBLISH', prefix .. ':ends', cjson.encode({ unit = unit, id = id, reason = reason }))
end

local function finish(lane, id, unit, keepsRuns, outcome)
  call('DEL', lane .. id)
  call('ZREM', lane .. 'delayed', id)
  call('ZREM', lane .. 'prioritized', id)
  local changed = change(unit)
  changed[outcome.status] = changed[outcome.status] + 1
  if outcome.status == 'failed' then
    local failures = prefix .. ':failures:' .. unit
    call('LPUSH', failures, cjson.encode({ id = id, at = now, attempt = outcome.attempt, error = outcome.value }))
    call('LTRIM', failures, 0, 19)
  end
  if keepsRuns then endRun(unit, id, outcome) end
end

local function conclude(lane, id, unit, keepsRuns, outcome)
  release(lane, id)
  local changed = change(unit)
  changed.buckets[outcome.bucket] = (changed.buckets[outcome.bucket] or 0) + 1
  changed.longest = math.max(changed.longest, outcome.durationMs)
  if outcome.status == 'retry' then
    changed.retried = changed.retried + 1
    call('HINCRBY', lane .. id, 'atm', 1)
    clearCrashes(lane, id)
    if keepsRuns then call('HINCRBY', prefix .. ':run:' .. unit .. ':' .. id, 'attempt', 1) end
    enqueueLater(lane, id, outcome.delayMs)
  else
    finish(lane, id, unit, keepsRuns, outcome)
    for _, envelope in ipairs(outcome.followUps) do accept(envelope) end
  end
  -- Where the lane's concurrency was used up, another process may be waiting for this place.
  if call('HEXISTS', lane .. 'meta', 'concurrency') == 1 then wake(lane) end
end
`;
