import { leases } from '../jobs/queue-moves.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

export const countCrashScript: Script = new Script({
  name: 'countCrash',
  access: 'works',
  purpose:
    'Counts the losses in a row of a leased job. The first loss counts always, a later one only if noteStartScript had noted that the handler started. A job that was lost while it ran alone is the cause.',
  argv: 'queue, job id, token',
  reply: 'the count, and 1 if the job is the cause or 0; or nothing if the lease is lost',
  includes: [prelude, leases],
  lua: `
local queue, id, token = take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return nil end
local started, crashes = unpack(call('HMGET', queue .. id, 'started', 'crashes'))
call('HDEL', queue .. id, 'started')
if not crashes or started then crashes = call('HINCRBY', queue .. id, 'crashes', 1) end
if started == 'alone' then call('HSET', queue .. id, 'cause', 1) end
return { tonumber(crashes), call('HEXISTS', queue .. id, 'cause') }
`,
});

export const noteStartScript: Script = new Script({
  name: 'noteStart',
  access: 'works',
  purpose:
    'Notes that the handler of a leased job starts, alone in its process or beside others; or that others join it.',
  argv: 'queue, job id, token, "alone" or "shared"',
  reply: 'nothing',
  includes: [prelude, leases],
  lua: `
local queue, id, token, place = take(), take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return end
-- Redis lets a script that has freed memory continue when memory is used up.
call('HDEL', queue .. id, 'started')
call('HSET', queue .. id, 'started', place)
`,
});
