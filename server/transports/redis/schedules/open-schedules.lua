--[[
Opens schedules of a service in a process, and marks the other ones of the service as removed, unless one has changed since the process read it.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, process, number of schedules, (schedule, definition, times, position, revision or empty)...
Reply    1; 0 if one has changed, and nothing is opened
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./schedule-records.lua"

local service, process = take(), take()
local openings = {}
for index = 1, takeNumber() do
  local opening = { schedule = take(), definition = take(), times = take(), position = take(), revision = take() }
  local record = readSchedule(opening.schedule)
  if (record and record.revision or '') ~= opening.revision then return 0 end
  openings[index] = opening
end
for _, schedule in ipairs(call('SMEMBERS', key('schedules'))) do
  if serviceOf(schedule) == service then writeSchedule(schedule, 'removed', 1) end
end
for _, opening in ipairs(openings) do
  local schedule = opening.schedule
  writeSchedule(schedule,
    'definition', opening.definition, 'times', opening.times, 'position', opening.position, 'removed', 0)
  addOpener(schedule, process, opening.definition)
  call('SADD', key('schedules'), schedule)
end
call('INCR', key('revision'))
return 1
