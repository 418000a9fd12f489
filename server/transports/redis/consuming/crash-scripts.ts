import { lanes, library } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

/**
 * How many processes in a row died over a leased job; nothing where the lease is lost. The first loss counts,
 * whatever it was. A later one counts where `noteStartScript` told that the handler had begun.
 */
export const crashesScript: Script = new Script(`${library}${lanes}
local lane, id, token = take(), take(), take()
if leaseOf(lane, id, token) ~= 'ok' then return nil end
local wasStarted = call('HDEL', lane .. id, 'started') == 1
local crashes = tonumber(call('HGET', lane .. id, 'crashes') or 0)
if crashes == 0 or wasStarted then crashes = call('HINCRBY', lane .. id, 'crashes', 1) end
return crashes
`);

/** Notes that the handler of a leased job begins. */
export const noteStartScript: Script = new Script(`${library}${lanes}
local lane, id, token = take(), take(), take()
if leaseOf(lane, id, token) ~= 'ok' then return end
-- What frees something comes first, for the case that Redis is out of memory.
call('HDEL', lane .. id, 'started')
call('HSET', lane .. id, 'started', 1)
`);
