--- @include "../connection/prelude.lua"

-- Schedules that were set at run time, by their id.
--
-- - `readStored(id)` returns a schedule as a list: id, definition, position, last due time, time to look at it, body, each of which may be empty; nothing if there is none
-- - `lookAtStored(id, lookAt)` sets the time from which the schedule can be taken; an empty one if it is never due again

local function readStored(id)
  local fields = call('HMGET', key('stored-schedule', id), 'definition', 'position', 'lastDue', 'lookAt', 'body')
  if not fields[1] then return nil end
  local reply = { id }
  for index = 1, 5 do reply[index + 1] = fields[index] or '' end
  return reply
end

local function lookAtStored(id, lookAt)
  if lookAt == '' then return call('ZREM', key('timetable'), id) end
  return call('ZADD', key('timetable'), lookAt, id)
end
