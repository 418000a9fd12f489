import { counters } from '../counting/counters.js';
import { dataLoss } from '../membership/data-epoch.js';
import { acceptance } from '../publishing/acceptance.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { scheduleRecords } from './schedule-records.js';

export const openSchedulesScript: Script = new Script({
  name: 'openSchedules',
  access: 'works',
  purpose:
    'Opens schedules of a service in a process, and marks the other ones of the service as removed, unless one has changed since the process read it.',
  argv: 'service, process, number of schedules, (schedule, definition, times, position, revision or empty)...',
  reply: '1; 0 if one has changed, and nothing is opened',
  includes: [prelude, scheduleRecords],
  lua: `
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
`,
});

export const claimScript: Script = new Script({
  name: 'claim',
  access: 'stores',
  purpose: 'Records a due time of a schedule and accepts its events, once over all processes.',
  argv: 'epoch that the caller knows or empty, process, schedule, definition, times, due time, number of events, event...',
  reply:
    'claimed; early, and the milliseconds until the due time; already, and the position; or replaced, each in a list; or a result of dataLoss, and nothing is accepted',
  includes: [prelude, counters, acceptance, dataLoss, scheduleRecords],
  lua: `
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
`,
});
