import { counting, lanes, library } from './library.js';
import { Script } from './script.js';

const beat = `
local function beat(member, ttlMs, description)
  call('SET', prefix .. ':member:' .. member, description, 'PX', ttlMs)
  call('SADD', prefix .. ':members', member)
end
`;

/** Makes a process a member, and records which types its service handles, in which lane. */
export const joinScript: Script = new Script(`${library}${counting}${beat}
local member = take()
beat(member, take(), take())
for _ = 1, takeNumber() do
  local source, field, route, unit, lane, concurrency = take(), take(), take(), take(), take(), take()
  call('HSET', prefix .. ':routes:' .. source, field, route)
  call('SADD', prefix .. ':handlers:' .. unit, member)
  call('SADD', prefix .. ':lanes', lane)
  local meta = prefix .. ':lane:' .. lane .. ':meta'
  call('HSET', meta, 'opts.maxLenEvents', 100)
  if concurrency == '' then call('HDEL', meta, 'concurrency') else call('HSET', meta, 'concurrency', concurrency) end
end
call('INCR', prefix .. ':revision')
`);

/** Tells that a member lives. */
export const beatScript: Script = new Script(`${library}${beat}
local member = take()
if call('EXISTS', prefix .. ':member:' .. member) == 0 then call('INCR', prefix .. ':revision') end
beat(member, take(), take())
`);

/** Ends a membership. */
export const leaveScript: Script = new Script(`${library}
local member = take()
call('DEL', prefix .. ':member:' .. member)
call('SREM', prefix .. ':members', member)
while position < #ARGV do call('SREM', prefix .. ':handlers:' .. take(), member) end
call('INCR', prefix .. ':revision')
`);

/** The descriptions of all members that live. */
export const membersScript: Script = new Script(`${library}
local descriptions = {}
for _, member in ipairs(call('SMEMBERS', prefix .. ':members')) do
  local description = call('GET', prefix .. ':member:' .. member)
  if description then
    descriptions[#descriptions + 1] = description
  else
    call('SREM', prefix .. ':members', member)
    call('INCR', prefix .. ':revision')
  end
end
return descriptions
`);

/**
 * Passes a leased job on that this process cannot run: a little later where another member handles
 * its type, else set aside until one does.
 */
export const passOnScript: Script = new Script(`${library}${counting}${lanes}
local lane, id, token = take(), take(), take()
if leaseOf(lane, id, token) ~= 'ok' then return end
release(lane, id)
local unit = call('HGET', lane .. id, 'unit')
call('INCR', prefix .. ':revision')
touch(unit)
local handlers = prefix .. ':handlers:' .. unit
for _, member in ipairs(call('SMEMBERS', handlers)) do
  if call('EXISTS', prefix .. ':member:' .. member) == 1 then
    enqueueLater(lane, id, 50)
    return
  end
  call('SREM', handlers, member)
end
call('LPUSH', prefix .. ':parked:' .. unit, id)
`);

/** Brings back what was set aside of units that are handled again, at most 1,000 at a time; answers how many. */
export const unparkScript: Script = new Script(`${library}${lanes}
local moved = 0
while position < #ARGV do
  local unit, lane = take(), take()
  while moved < 1000 do
    local id = call('RPOP', prefix .. ':parked:' .. unit)
    if not id then break end
    call('LPUSH', lane .. 'wait', id)
    wake(lane)
    moved = moved + 1
  end
end
return moved
`);
