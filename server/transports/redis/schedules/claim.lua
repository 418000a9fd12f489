--[[
Records a due time of a schedule and accepts its events, once over all processes.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     epoch that the caller knows or empty, process, schedule, definition, times, due time, number of events, event...
Reply    claimed; early, and the milliseconds until the due time; already, and the position; or replaced, each in a list; or a result of dataLoss, and nothing is accepted
Access   stores
]]
--- @include "../events/acceptance.lua"
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "./schedule-records.lua"

local loss = dataLoss(take())
if loss then return loss end
local process, schedule, definition, times, dueAt = take(), take(), take(), take(), takeNumber()
if dueAt > now then return { 'early', string.format('%.17g', dueAt - now) } end
local record = readSchedule(schedule)
if record then
  if record.definition ~= definition and record.isHeld then return { 'replaced' } end
  if dueAt <= tonumber(record.position) then return { 'already', record.position } end
end
for _ = 1, takeNumber() do acceptEmit(takeEmit()) end
local due = string.format('%.17g', dueAt)
writeSchedule(schedule, 'definition', definition, 'times', times, 'position', due, 'lastDue', due,
  'removed', record and record.removed or 0)
addOpener(schedule, process, definition)
call('SADD', key('schedules'), schedule)
arrangeTypes()
writeChanges()
call('INCR', key('revision'))
return { 'claimed' }
