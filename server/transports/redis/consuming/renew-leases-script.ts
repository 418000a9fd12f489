import { leases } from '../jobs/queue-moves.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

export const renewLeasesScript: Script = new Script({
  name: 'renewLeases',
  access: 'works',
  purpose: 'Extends the locks of leased jobs.',
  argv: 'lifetime in ms, lease...',
  reply: 'the positions, from 1, of leases that were lost',
  includes: [prelude, leases],
  lua: `
local lifetimeMs = take()
local lost, index = {}, 0
while position < #ARGV do
  local queue, id, token, starts = take(), take(), take(), take()
  -- The service type of the lease.
  take()
  index = index + 1
  if leaseOf(queue, id, token, starts) == 'ok' then
    call('PEXPIRE', queue .. id .. ':lock', lifetimeMs)
    call('SREM', queue .. 'stalled', id)
  else
    lost[#lost + 1] = index
  end
end
return lost
`,
});
