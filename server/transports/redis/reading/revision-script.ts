import { minuteMs } from '../../limits.js';
import { countRecords } from '../counting/count-records.js';
import { serviceTypes } from '../counting/service-types.js';
import { activeJobs } from '../jobs/active-jobs.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

export const revisionScript: Script = new Script({
  name: 'revision',
  access: 'reads',
  purpose: 'Reads a string that changes with the replies of the other reading scripts.',
  argv: 'type; none means all types',
  reply: 'the string',
  includes: [prelude, activeJobs, countRecords, serviceTypes],
  lua: `
local active, leased = activeJobs()
local type = ARGV[1]
if not type then return (call('GET', key('revision')) or '0') .. '.' .. string.sub(redis.sha1hex(leased), 1, 12) .. '.' .. math.floor(now / ${minuteMs}) end
local changes, running = 0, 0
local ofType = serviceTypesOf(type)
local texts = readShares(ofType, unfoldedSums())
for index, serviceType in ipairs(ofType) do
  changes = changes + (string.match(texts[index] or '', ' (%d+) %d$') or 0)
  running = running + (active[serviceType] or 0)
end
return changes .. '.' .. running .. '.' .. math.floor(now / ${minuteMs})
`,
});
