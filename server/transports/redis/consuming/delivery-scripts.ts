import { prelude } from '../connection/keys.js';
import { LuaFragment, Script } from '../connection/script.js';
import { acceptance } from '../events/acceptance.js';
import { gates } from '../jobs/gates.js';
import { leases } from '../jobs/queue-jobs.js';
import { lateRuns, runEntries } from '../runs/run-records.js';
import { runWaits } from '../runs/run-waits.js';
import { suspendedRuns } from '../runs/suspended-runs.js';
import { counters } from '../statistics/counters.js';

export const checkpointScript: Script = new Script({
  name: 'checkpoint',
  access: 'stores',
  purpose: 'Records an entry of a run, and accepts the events that it emitted.',
  argv: 'lease, number of entries that the delivery knows, key, value as splitCheckpoint divides it, number of events, event...',
  reply:
    'a commit result: already if this delivery stored the key before, fenced if another delivery did or the lease is lost; unless it is fenced, then the entries that the delivery does not know',
  includes: [prelude, counters, leases, acceptance, runEntries],
  lua: `
local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
local known, name, shown, output = takeNumber(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return { 'fenced' } end
local stored = call('HGET', key('run', serviceType, id, 'checkpoints'), name)
if stored then
  if string.match(stored, '^%d+ (%d+) ') ~= starts then return { 'fenced' } end
  return { 'already', entriesSince(serviceType, id, known, starts) }
end
appendEntry(serviceType, id, name, starts, shown, output)
clearCrashes(queue, id)
changesOf(serviceType)
for _ = 1, takeNumber() do acceptEmit(takeEmit()) end
arrangeTypes()
writeChanges()
return { 'ok', entriesSince(serviceType, id, known, starts) }
`,
});

export const waitScript: Script = new Script({
  name: 'wait',
  access: 'stores',
  purpose:
    'Stores waits of a run, and accepts their child runs for its service alone. A wait whose key is stored or recorded is left as it is.',
  argv: 'lease, number of waits, (key, delay in milliseconds or empty, type of the event or empty, key of the event, retry or approval or empty, events of a cancelled child as JSON or empty, 1 if a child run follows, envelope)...',
  reply: 'ok, or fenced if the lease is lost',
  includes: [prelude, counters, leases, acceptance, runWaits, suspendedRuns],
  lua: `
local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return 'fenced' end

local function acceptChild(envelope)
  local childType = serviceOf(serviceType) .. '/' .. envelope.type
  if not hasRun(childType, envelope.id) then
    local route = call('HGET', key('routes', envelope.type), childType)
    -- A service that does not handle the type yet keeps the run until it does.
    route = route and cjson.decode(route) or { serviceType = childType, type = decodeName(envelope.type), retainsRuns = true }
    queueJob(route, envelope, envelope.id, envelope.depth)
  end
  return { serviceType = childType, id = envelope.id }
end

for _ = 1, takeNumber() do
  local name, delayMs, eventType, eventKey, purpose = take(), tonumber(take()), take(), take(), take()
  local onCancel, hasChild = take(), take() == '1'
  local child = hasChild and takeEnvelope()
  local isKnown = call('HEXISTS', key('run', serviceType, id, 'waits'), name) == 1
    or call('HEXISTS', key('run', serviceType, id, 'checkpoints'), name) == 1
  if not isKnown then
    addWait(serviceType, id, name, {
      since = now,
      dueAt = delayMs and now + math.ceil(delayMs) or nil,
      event = eventType ~= '' and { type = eventType, key = eventKey } or nil,
      child = child and acceptChild(child) or nil,
      isApproval = purpose == 'approval' or nil,
      onCancel = onCancel ~= '' and onCancel or nil,
    })
    if purpose == 'retry' then countOne(serviceType, 't') else changesOf(serviceType) end
  end
end
clearCrashes(queue, id)
arrangeTypes()
writeChanges()
return 'ok'
`,
});

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
