import { approvalsFirst } from '../../event-record.js';
import type { RunRecord } from '../../transport.js';
import { serviceTypes } from '../counting/service-types.js';
import { prelude } from '../scripts/prelude.js';
import { readArray } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { oneRun, readRun } from './runs.js';

export const waitingScript: Script = new Script({
  name: 'waiting',
  access: 'reads',
  purpose: 'Reads the runs of several types that wait, those with the oldest approvals first.',
  argv: 'maximum number of runs per service type, types, separated by commas',
  reply: 'a list of runs per type, as readRun returns them, without entries',
  includes: [prelude, oneRun, serviceTypes],
  lua: `
local limit = takeNumber()
local reply = {}
local _, all = serviceTypesOfAll(take())
for _, ofType in ipairs(all) do
  local runs = {}
  for _, serviceType in ipairs(ofType) do
    local known, found = {}, 0
    local function add(id)
      if found == limit or known[id] then return end
      known[id], found = true, found + 1
      runs[#runs + 1] = readRun(serviceType, id, 'shown', 2 ^ 31) or nil
    end
    -- A run may ask for more than one decision.
    local approvals = key('approvals', serviceType)
    for first = 0, call('ZCARD', approvals) - 1, limit do
      if found == limit then break end
      for _, member in ipairs(call('ZRANGE', approvals, first, first + limit - 1)) do add(string.match(member, '^[^:]*')) end
    end
    if found < limit then
      local suspended = call('HSCAN', key('suspended', serviceType), 0, 'COUNT', 2 * limit)[2]
      for index = 1, #suspended, 2 do add(suspended[index]) end
    end
  end
  reply[#reply + 1] = runs
end
return reply
`,
});

/** Returns the reply of {@link waitingScript}: at most `limit` runs per type. */
export function readWaiting(reply: unknown, limit: number): (readonly RunRecord[])[] {
  return readArray(reply).map((runs) => approvalsFirst(readArray(runs).map(readRun)).slice(0, limit));
}
