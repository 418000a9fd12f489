import { minuteMs } from '../../limits.js';
import { activeJobs } from '../scripts/active-jobs.js';
import { counterNames } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { serviceTypes } from '../scripts/service-types.js';

const fields = counterNames.map((name) => `'${name}'`).join(', ');

export const revisionScript: Script = new Script({
  name: 'revision',
  access: 'reads',
  purpose: 'Reads a string that changes with the replies of the other reading scripts.',
  argv: 'type; none means all types',
  reply: 'the string',
  includes: [prelude, activeJobs, serviceTypes],
  lua: `
local active, leased = activeJobs()
local type = ARGV[1]
if not type then return (call('GET', key('revision')) or '0') .. '.' .. string.sub(redis.sha1hex(leased), 1, 12) .. '.' .. math.floor(now / ${minuteMs}) end
local changes, running = 0, 0
for _, serviceType in ipairs(serviceTypesOf(type)) do
  for _, count in ipairs(call('HMGET', key('stats', serviceType), 'revision', ${fields})) do changes = changes + (count or 0) end
  running = running + (active[serviceType] or 0)
end
return changes .. '.' .. running .. '.' .. math.floor(now / ${minuteMs})
`,
});
