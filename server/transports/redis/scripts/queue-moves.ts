import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

/**
 * Moves of a job between the sets and lists of its worker queue, which are laid out as BullMQ 6 expects them. `queue`
 * is the prefix of the queue's keys.
 */
export const queueMoves: LuaFragment = new LuaFragment(
  `
local function wakeWorker(queue)
  call('ZADD', queue .. 'marker', 0, '0')
end

local function enqueue(queue, id, priority)
  local order = call('INCR', queue .. 'pc')
  call('ZADD', queue .. 'prioritized', priority * 4294967296 + order % 4294967296, id)
  wakeWorker(queue)
end

local function enqueueLater(queue, id, delayMs)
  local order = call('INCR', queue .. 'pc')
  call('ZADD', queue .. 'delayed', (now + math.ceil(delayMs)) * 4096 + order % 4096, id)
  local first = call('ZRANGE', queue .. 'delayed', 0, 0, 'WITHSCORES')
  call('ZADD', queue .. 'marker', math.floor(first[2] / 4096), '1')
end

-- The DEL comes first: Redis lets a script that has freed memory continue when memory is used up.
local function endLease(queue, id)
  call('DEL', queue .. id .. ':lock')
  call('SREM', queue .. 'stalled', id)
  call('LREM', queue .. 'active', -1, id)
end
`,
  [prelude],
);

/**
 * `leaseOf(queue, id, token)` returns a commit result; `clearCrashes(queue, id)` resets the crash count of a job whose
 * handler has reported.
 */
export const leases: LuaFragment = new LuaFragment(
  `
local function clearCrashes(queue, id)
  call('HDEL', queue .. id, 'stc', 'crashes', 'started')
end

-- The job of an event that has ended is deleted.
local function leaseOf(queue, id, token)
  if call('EXISTS', queue .. id) == 0 then return 'already' end
  if call('GET', queue .. id .. ':lock') ~= token then return 'fenced' end
  return 'ok'
end
`,
  [prelude],
);
