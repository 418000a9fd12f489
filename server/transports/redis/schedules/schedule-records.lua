--- @include "../connection/prelude.lua"
--- @include "../membership/live-handlers.lua"

-- Records of schedules. A `schedule` is `service/name`, both percent-encoded.
--
-- - `readSchedule(schedule)` returns the record as a table; nothing if there is none
-- - `readSchedules()` returns all records as lists
-- - `writeSchedule(schedule, ...)` sets fields of a record and changes its revision
-- - `addOpener(schedule, process, definition)` adds a process, and removes dead ones

local function readSchedule(schedule)
  local changes, definition, times, position, lastDue, removed =
    unpack(call('HMGET', key('schedule', schedule), 'changes', 'definition', 'times', 'position', 'lastDue', 'removed'))
  if not changes then return nil end
  local record = {
    definition = definition, times = times, position = position, lastDue = lastDue or '', removed = removed,
    isOpen = false, isHeld = false,
  }
  local openers = call('HGETALL', key('openers', schedule))
  for index = 1, #openers, 2 do
    if isLive(openers[index]) then
      record.isOpen = true
      if openers[index + 1] == definition then record.isHeld = true end
    end
  end
  -- The death of the last process changes the record too.
  record.revision = string.format('%.0f', changes * 2 + (record.isOpen and 1 or 0))
  return record
end

local function readSchedules()
  local reply = {}
  for _, schedule in ipairs(call('SMEMBERS', key('schedules'))) do
    local record = readSchedule(schedule)
    if record then
      reply[#reply + 1] = {
        schedule, record.definition, record.times, record.position, record.lastDue, record.removed,
        record.isOpen and '1' or '0', record.revision,
      }
    end
  end
  return reply
end

local function writeSchedule(schedule, ...)
  call('HSET', key('schedule', schedule), ...)
  call('HINCRBY', key('schedule', schedule), 'changes', 1)
end

local function addOpener(schedule, process, definition)
  local openers = key('openers', schedule)
  for _, other in ipairs(call('HKEYS', openers)) do
    if not isLive(other) then call('HDEL', openers, other) end
  end
  call('HSET', openers, process, definition)
end
