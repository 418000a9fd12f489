import { prelude } from '../scripts/prelude.js';
import { leases } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';

export const countCrashScript: Script = new Script({
  name: 'countCrash',
  access: 'works',
  purpose:
    'Counts the losses in a row of a leased job. The first loss counts always, a later one only if noteStartScript had noted that the handler started.',
  argv: 'queue, job id, token',
  reply: 'the count, or nothing if the lease is lost',
  includes: [prelude, leases],
  lua: `
local queue, id, token = take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return nil end
local wasStarted = call('HDEL', queue .. id, 'started') == 1
local crashes = tonumber(call('HGET', queue .. id, 'crashes') or 0)
if crashes == 0 or wasStarted then crashes = call('HINCRBY', queue .. id, 'crashes', 1) end
return crashes
`,
});

export const noteStartScript: Script = new Script({
  name: 'noteStart',
  access: 'works',
  purpose: 'Notes that the handler of a leased job starts.',
  argv: 'queue, job id, token',
  reply: 'nothing',
  includes: [prelude, leases],
  lua: `
local queue, id, token = take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return end
-- Redis lets a script that has freed memory continue when memory is used up.
call('HDEL', queue .. id, 'started')
call('HSET', queue .. id, 'started', 1)
`,
});
