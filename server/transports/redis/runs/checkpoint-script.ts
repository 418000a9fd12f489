import { counters } from '../counting/counters.js';
import { leases } from '../jobs/queue-moves.js';
import { acceptance } from '../publishing/acceptance.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { runEntries } from './run-entries.js';

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
