--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "./suspended-runs.lua"

-- `readRun(serviceType, id, parts, from)` returns a run, with its entries from a position on if there is one: with `'shown'` what observers read, without payload, result and
-- outputs, which may be large; with `'result'` its result too; with `'all'` everything.

local function checkpointsSince(runKey, from)
  local checkpoints = {}
  for _, name in ipairs(call('LRANGE', runKey .. ':order', from, -1)) do
    checkpoints[#checkpoints + 1] = name
    checkpoints[#checkpoints + 1] = call('HGET', runKey .. ':checkpoints', name)
  end
  return checkpoints
end

local function packedAttempts(record)
  for index = 1, #record[1], 2 do
    if record[1][index] == 'attempts' then return record[1][index + 1] end
  end
  return ''
end

-- Those of a suspended run that is packed; false if it is none.
local function packedParts(serviceType, id, parts, from)
  local record = suspendedRun(serviceType, id)
  if not record then return false end
  local fields, checkpoints, outputs = {}, {}, {}
  for index = 1, #record[2], 2 do fields[record[2][index]] = record[2][index + 1] end
  for index = (from or 0) * 3 + 1, #record[5], 3 do
    local name, checkpoint, output = unpack(record[5], index, index + 2)
    checkpoints[#checkpoints + 1] = name
    checkpoints[#checkpoints + 1] = checkpoint
    if parts == 'all' and output ~= '' then
      outputs[#outputs + 1] = name
      outputs[#outputs + 1] = output
    end
  end
  for index = 2, #record[6], 2 do record[6][index] = cjson.encode(record[6][index]) end
  return { parts == 'all' and record[3] or shownData(record), fields.acceptedAt, fields.attempt, 'suspended', false, false,
    checkpoints, outputs, record[6], packedAttempts(record) }
end

-- Numbers of events that a run keeps, and has dropped; false if it keeps none.
local function inboxCounts(runKey)
  local dropped = call('HGET', runKey .. ':inbox', 'dropped')
  return dropped and { call('HLEN', runKey .. ':inbox') - constants.inboxFields, dropped }
end

local function readRun(serviceType, id, parts, from)
  local runKey = key('run', serviceType, id)
  local data = parts == 'all' and 'data' or 'shown'
  local run = call('HMGET', runKey, data, 'acceptedAt', 'attempt', 'status', 'endedAt', 'queue', 'openWaits', 'attempts')
  if not run[1] then
    run = packedParts(serviceType, id, parts, from)
    if run then run[11], run[12] = false, inboxCounts(runKey) end
    return run and { serviceType, id, run }
  end
  local queue, openWaits, attempts = unpack(run, 6, 8)
  local record = not run[4] and suspendedRun(serviceType, id)
  if record then run[4] = 'suspended' end
  run[6] = (parts ~= 'shown' or run[4] == 'failed') and call('HGET', runKey, 'value')
  if not run[4] and call('LPOS', queue .. 'active', id) then run[4] = 'active' end
  run[7] = from and checkpointsSince(runKey, from) or call('HGETALL', runKey .. ':checkpoints')
  run[9] = run[5] and cjson.decode(openWaits or '[]') or call('HGETALL', runKey .. ':waits')
  run[8] = parts == 'all' and call('HGETALL', runKey .. ':outputs') or {}
  if record then
    run[10] = packedAttempts(record)
  else
    run[10] = run[5] and (attempts or '') or attemptsOf(queue .. id)
  end
  run[11] = not run[4] and call('HGET', queue .. id, 'needs')
  run[12] = not run[5] and inboxCounts(runKey)
  return { serviceType, id, run }
end
