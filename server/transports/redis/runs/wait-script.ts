import { counters } from '../counting/counters.js';
import { leases } from '../jobs/queue-moves.js';
import { acceptance } from '../publishing/acceptance.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { runWaits } from './run-waits.js';
import { suspendedRuns } from './suspended-runs.js';

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
    route = route and cjson.decode(route) or { serviceType = childType, type = decodeName(envelope.type), keepsRuns = true }
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
