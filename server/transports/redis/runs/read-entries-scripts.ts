import { counters } from '../counting/counters.js';
import { gates } from '../gate/gates.js';
import { leases } from '../jobs/queue-moves.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { runEntries } from './run-entries.js';
import { lateRuns } from './run-records.js';
import { runWaits } from './run-waits.js';

// A worker resolves waits by time when it asks for a job. The delivery of a run does it too: all slots may be taken.
const ownTimers = new LuaFragment(
  `
local function resolveOwnTimers(serviceType, id)
  local waits = call('HGETALL', key('run', serviceType, id, 'waits'))
  local nextDueAt
  for index = 1, #waits, 2 do
    local dueAt = cjson.decode(waits[index + 1]).dueAt
    if dueAt and dueAt <= now then
      resolveByTime(serviceType, id, waits[index])
    elseif dueAt and (not nextDueAt or dueAt < nextDueAt) then
      nextDueAt = dueAt
    end
  end
  arrangeTypes()
  writeChanges()
  return nextDueAt and nextDueAt - now or false
end
`,
  [counters, gates, runWaits],
);

export const loadRunScript: Script = new Script({
  name: 'loadRun',
  access: 'works',
  purpose:
    'Reads all entries of a run for a delivery. An event that was accepted before its type kept runs becomes a run.',
  argv: 'lease',
  reply:
    'checkpoints, outputs, milliseconds until the next wait resolves by time or nothing; nothing at all if the lease is lost',
  includes: [prelude, lateRuns, leases, ownTimers],
  lua: `
local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
-- The message of the process that ended the run may have arrived before the job.
if leaseOf(queue, id, token, starts) ~= 'ok' then return nil end
ensureRun(queue, id, serviceType)
local dueInMs = resolveOwnTimers(serviceType, id)
local run = key('run', serviceType, id)
return { call('HGETALL', run .. ':checkpoints'), call('HGETALL', run .. ':outputs'), dueInMs }
`,
});

export const newEntriesScript: Script = new Script({
  name: 'newEntries',
  access: 'works',
  purpose: 'Reads the entries of a run that a delivery does not know.',
  argv: 'lease, number of entries that the delivery knows, 1 to resolve waits by time',
  reply: 'entries, milliseconds until the next wait resolves by time or nothing',
  includes: [prelude, runEntries, ownTimers],
  lua: `
local _, id, _, starts, serviceType = take(), take(), take(), take(), take()
local known, isTimed = takeNumber(), take() == '1'
local dueInMs = isTimed and resolveOwnTimers(serviceType, id)
return { entriesSince(serviceType, id, known, starts), dueInMs }
`,
});
