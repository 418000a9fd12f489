import { conclusion } from '../outcomes/end-attempt.js';
import { acceptance, counting, lanes, library } from '../scripts/prelude.js';
import { discarding, subscribed } from '../removal/remove-service-scripts.js';
import { Script } from '../scripts/script.js';

// Processes of one kind tell the same of themselves: it is kept once, under its hash.
const beat = `
local member, ttlMs, hash = take(), take(), take()
local known = call('GET', prefix .. ':member:' .. member)
local function beat()
  if known ~= hash then call('INCR', prefix .. ':revision') end
  call('SET', prefix .. ':member:' .. member, hash, 'PX', ttlMs)
  call('SADD', prefix .. ':members', member)
  return call('PEXPIRE', prefix .. ':description:' .. hash, ttlMs)
end
`;

/**
 * Makes a process a member, and records which types its service handles, in which lane, under which limits. One that
 * joins again leaves what is recorded as it is: another of its service that started later may have set it.
 * Answers 0 where what it tells of itself has yet to be kept.
 */
export const joinScript: Script = new Script(`${library}${subscribed}${beat}
local isStart = take() == '1'
local limits = { 'concurrency', 'max', 'duration' }
local records, rows = {}, {}
for _ = 1, takeNumber() do
  local source, field, route, unit, lane = take(), take(), take(), take(), take()
  local values = { take(), take(), take() }
  call('SADD', prefix .. ':handlers:' .. unit, member)
  if records[unit] == nil then records[unit] = isStart or not isSubscribed(unit) end
  if records[unit] then
    call('HSET', prefix .. ':routes:' .. source, field, route)
    rows[source .. ' ' .. field] = true
    call('SADD', prefix .. ':lanes', lane)
    local meta = prefix .. ':lane:' .. lane .. ':meta'
    call('HSET', meta, 'opts.maxLenEvents', 100)
    -- Limits are BullMQ's own, and hold for all workers. What is left in a lane that a type had before has none.
    call('HDEL', prefix .. ':lane:' .. unit .. ':meta', unpack(limits))
    for index, limit in ipairs(limits) do
      if values[index] ~= '' then call('HSET', meta, limit, values[index]) end
    end
  end
end
-- What triggered a workflow in another version does so no more.
for _, row in ipairs(call('SMEMBERS', prefix .. ':subscriptions')) do
  local source, field, unit = string.match(row, '^(%S+) ((%S+) triggered)$')
  if records[unit] and not rows[row] then
    call('HDEL', prefix .. ':routes:' .. source, field)
    call('SREM', prefix .. ':subscriptions', row)
  end
end
for row in pairs(rows) do call('SADD', prefix .. ':subscriptions', row) end
call('INCR', prefix .. ':revision')
return beat()
`);

/** Tells that a member lives. Answers as `joinScript` does, and nothing where it is no member, or was taken for dead. */
export const beatScript: Script = new Script(`${library}${beat}
return known and beat()
`);

/** Keeps what members of one kind tell of themselves. */
export const describeScript: Script = new Script(`${library}
local hash, description, ttlMs = take(), take(), take()
call('SET', prefix .. ':description:' .. hash, description, 'PX', ttlMs)
call('INCR', prefix .. ':revision')
`);

/** Ends a membership. */
export const leaveScript: Script = new Script(`${library}
local member = take()
call('DEL', prefix .. ':member:' .. member)
call('SREM', prefix .. ':members', member)
while position < #ARGV do call('SREM', prefix .. ':handlers:' .. take(), member) end
call('INCR', prefix .. ':revision')
`);

/** What members that live tell of themselves: a hash for each, then the texts of those that the asker does not know. */
export const membersReading = `
local function readMembers()
  local known, hashes, texts = {}, {}, {}
  for _ = 1, takeNumber() do known[take()] = true end
  for _, member in ipairs(call('SMEMBERS', prefix .. ':members')) do
    local hash = call('GET', prefix .. ':member:' .. member)
    if not hash then
      call('SREM', prefix .. ':members', member)
      call('INCR', prefix .. ':revision')
    elseif known[hash] then
      hashes[#hashes + 1] = hash
    else
      local text = call('GET', prefix .. ':description:' .. hash)
      if text then
        known[hash] = true
        hashes[#hashes + 1] = hash
        texts[#texts + 1] = hash
        texts[#texts + 1] = text
      end
    end
  end
  return { hashes, texts }
end
`;

/** What members that live tell of themselves. */
export const membersScript: Script = new Script(`${library}${membersReading}
return readMembers()
`);

/**
 * Passes a leased job on that this process cannot run, or not now: later where a member handles its type,
 * else set aside until one does, or discarded where its type was retired.
 */
export const passOnScript: Script = new Script(`${library}${counting}${lanes}${acceptance}${conclusion}${discarding}
local lane, id, token, delayMs = take(), take(), take(), takeNumber()
if leaseOf(lane, id, token) ~= 'ok' then return end
local unit = call('HGET', lane .. id, 'unit')
if not isSubscribed(unit) then
  discard(lane, id)
  writeChanges()
  return
end
release(lane, id)
call('INCR', prefix .. ':revision')
touch(unit)
local handlers = prefix .. ':handlers:' .. unit
for _, member in ipairs(call('SMEMBERS', handlers)) do
  if call('EXISTS', prefix .. ':member:' .. member) == 1 then
    enqueueLater(lane, id, delayMs)
    return
  end
  call('SREM', handlers, member)
end
call('LPUSH', prefix .. ':parked:' .. unit, lane .. '\\n' .. id)
`);

/** Brings back what was set aside of units that are handled again, at most 1,000 at a time; answers how many. */
export const unparkScript: Script = new Script(`${library}${lanes}
local moved = 0
while position < #ARGV do
  local parked = prefix .. ':parked:' .. take()
  while moved < 1000 do
    local entry = call('RPOP', parked)
    if not entry then break end
    local lane, id = string.match(entry, '^(.*)\\n(.*)$')
    call('LPUSH', lane .. 'wait', id)
    wake(lane)
    moved = moved + 1
  end
end
return moved
`);

/** The lanes of a service that hold jobs. */
export const heldLanesScript: Script = new Script(`${library}
local service = take()
local held = {}
for _, name in ipairs(call('SMEMBERS', prefix .. ':lanes')) do
  local lane = prefix .. ':lane:' .. name .. ':'
  local isOfService = name == service or string.sub(name, 1, #service + 1) == service .. '/'
  if isOfService and call('EXISTS', lane .. 'wait', lane .. 'active', lane .. 'prioritized', lane .. 'delayed') > 0 then
    held[#held + 1] = name
  end
end
return held
`);
