--- @include "../connection/prelude.lua"
--- @include "../jobs/type-states.lua"

-- Suspended runs. The hash `suspended:<serviceType>` has a record per run, in MessagePack. It takes the place of the
-- run's job, and of all keys of a small run: each key of its own would take more memory than the values in it.
--
-- A record is a list: fields of the job, and of a small run then fields of the run, data, length of what follows the
-- body in the data, entries as name, checkpoint and output or `''`, waits as name and wait. Each list is flat. Fields
-- that follow from others are left out, and whole numbers are stored as numbers.
--
-- - `suspendedRun(serviceType, id)` returns the record of a run, `nil` if it is not suspended
-- - `hasRun(serviceType, id)` returns `true` if a run is stored
-- - `shownData(record)` returns the data without the body

local function suspendedRun(serviceType, id)
  local packed = call('HGET', key('suspended', serviceType), id)
  if not packed then return nil end
  local record = cmsgpack.unpack(packed)
  local longNames = constants.longNames
  for list = 1, 2 do
    local fields = record[list] or {}
    for index = 1, #fields, 2 do fields[index] = longNames[fields[index]] or fields[index] end
  end
  return record
end

local function hasRun(serviceType, id)
  return call('EXISTS', key('run', serviceType, id)) == 1 or call('HEXISTS', key('suspended', serviceType), id) == 1
end

local function shownData(record)
  local _, _, data, tailLength = unpack(record)
  local _, bodyStart = string.find(data, constants.bodyStart, 1, true)
  return string.sub(data, 1, bodyStart) .. 'null' .. string.sub(data, -tailLength)
end

-- `suspendRun(queue, id, serviceType)` packs a run, its job included. `restoreRun(serviceType, id)` undoes that, and
-- returns the prefix of the queue of the job; `nil` if the run is not suspended.

-- Lua allows 200 local variables at a time.
local suspendRun, restoreRun
do
local function compact(value)
  local number = string.find(value, '^%d+$') and tonumber(value)
  return number and string.format('%.0f', number) == value and number or value
end

local function fieldsWithout(hash, left)
  local shortNames = constants.shortNames
  local fields, all = {}, call('HGETALL', hash)
  for index = 1, #all, 2 do
    if not left[all[index]] then
      fields[#fields + 1] = shortNames[all[index]] or all[index]
      fields[#fields + 1] = compact(all[index + 1])
    end
  end
  return fields
end

local function lengthOf(list)
  local length = 0
  for _, value in ipairs(list) do length = length + #value end
  return length
end

-- Returns nothing if they are long.
local function entriesToPack(runKey)
  local names = call('LRANGE', runKey .. ':order', 0, constants.maxPackedEntries)
  if #names > constants.maxPackedEntries then return nil end
  local entries, length = {}, 0
  for _, name in ipairs(names) do
    length = length + call('HSTRLEN', runKey .. ':outputs', name)
    if length > constants.maxPackedLength then return nil end
    entries[#entries + 1] = name
    entries[#entries + 1] = call('HGET', runKey .. ':checkpoints', name)
    entries[#entries + 1] = call('HGET', runKey .. ':outputs', name) or ''
  end
  return entries
end

local function addSmallRun(record, runKey)
  local length = call('HSTRLEN', runKey, 'data')
  if length > constants.maxPackedLength or call('HLEN', runKey .. ':waits') > constants.maxPackedEntries then return end
  local entries, waits = entriesToPack(runKey), call('HGETALL', runKey .. ':waits')
  if not entries or length + lengthOf(entries) + lengthOf(waits) > constants.maxPackedLength then return end
  local data, shown = unpack(call('HMGET', runKey, 'data', 'shown'))
  local _, bodyStart = string.find(shown or '', constants.bodyStart, 1, true)
  if not bodyStart then return end
  record[2] = fieldsWithout(runKey, { data = true, shown = true, queue = true })
  record[3] = data
  -- As long as in the data: only the body differs.
  record[4] = #shown - bodyStart - #'null'
  record[5] = entries
  for index = 2, #waits, 2 do waits[index] = cjson.decode(waits[index]) end
  record[6] = waits
  call('DEL', runKey, runKey .. ':order', runKey .. ':checkpoints', runKey .. ':outputs', runKey .. ':waits')
end

function suspendRun(queue, id, serviceType)
  local derived = { name = true, data = true, opts = true, timestamp = true, priority = true, serviceType = true, processedOn = true }
  local record = { fieldsWithout(queue .. id, derived) }
  addSmallRun(record, key('run', serviceType, id))
  call('DEL', queue .. id)
  call('HSET', key('suspended', serviceType), id, cmsgpack.pack(record))
end

local function restoreEntries(runKey, entries)
  for index = 1, #entries, 3 do
    local name, checkpoint, output = unpack(entries, index, index + 2)
    call('RPUSH', runKey .. ':order', name)
    call('HSET', runKey .. ':checkpoints', name, checkpoint)
    if output ~= '' then call('HSET', runKey .. ':outputs', name, output) end
  end
end

function restoreRun(serviceType, id)
  local record = suspendedRun(serviceType, id)
  if not record then return nil end
  call('HDEL', key('suspended', serviceType), id)
  local runKey, queue = key('run', serviceType, id), queueKey(stateOf(serviceType).queue)
  local job, run, data, _, entries, waits = unpack(record)
  if run then
    call('HSET', runKey, 'data', data, 'shown', shownData(record), unpack(run))
    restoreEntries(runKey, entries)
    for index = 1, #waits, 2 do call('HSET', runKey .. ':waits', waits[index], cjson.encode(waits[index + 1])) end
  end
  call('HSET', runKey, 'queue', queue)
  local acceptedAt, stored = unpack(call('HMGET', runKey, 'acceptedAt', 'data'))
  call('HSET', queue .. id, 'name', decodeName(typeOf(serviceType)), 'data', stored, 'opts', '{}', 'timestamp', acceptedAt,
    'serviceType', serviceType, unpack(job))
  call('HSET', queue .. id, 'priority', math.floor(call('HGET', queue .. id, 'order') / constants.orderSpan))
  return queue
end
end
