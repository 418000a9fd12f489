import { type ErrorInfo, errorInfo } from '../../../errors.js';
import { RetiredError } from '../../errors.js';
import { conclusion } from '../outcomes/end-attempt.js';
import { letterOf } from '../dead-letters/dead-letter-scripts.js';
import { acceptance, counting, lanes, library } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

const failure: ErrorInfo = errorInfo(new RetiredError());

/** Whether events go to a unit. */
export const subscribed = `
local function isSubscribed(unit)
  return call('HEXISTS', prefix .. ':routes:' .. string.match(unit, '/(.*)$'), unit) == 1
end
`;

/** What is done with jobs of a unit that nothing goes to any more. Needs `conclusion`. */
export const discarding: string = `${subscribed}
local function discard(lane, id)
  local unit, attempts = unpack(call('HMGET', lane .. id, 'unit', 'atm'))
  release(lane, id)
  local keepsRuns = call('EXISTS', prefix .. ':run:' .. unit .. ':' .. id) == 1
  local outcome = { status = 'failed', attempt = (attempts or 0) + 1, value = [=[${JSON.stringify(failure)}]=] }
  finish(lane, id, unit, keepsRuns, outcome)
  if keepsRuns then announceEnd(unit, id, nil) end
end
`;

/**
 * Ends subscriptions of a service, all or those of some units, unless a process handles one of them, or there is
 * something that may not be discarded. Answers what it found: the lanes and units that are left to be cleared, and how
 * many events and dead letters they have.
 */
export const unsubscribeScript: Script = new Script(`${library}
local service, mayDiscard = take(), take() == '1'
local only
while position < #ARGV do
  only = only or {}
  only[take()] = true
end

local rows, units, services = {}, {}, {}
for _, row in ipairs(call('SMEMBERS', prefix .. ':subscriptions')) do
  local source, field, unit = string.match(row, '^(%S+) ((%S+).*)$')
  local owner = string.match(unit, '^[^/]*')
  services[owner] = true
  if owner == service and (not only or only[unit]) then
    rows[#rows + 1] = { source, field }
    units[unit] = true
  end
end
if next(units) == nil then
  local answer = { 'none' }
  for name in pairs(services) do answer[#answer + 1] = name end
  return answer
end

local unitList, pending, letters = {}, 0, 0
for unit in pairs(units) do
  for _, member in ipairs(call('SMEMBERS', prefix .. ':handlers:' .. unit)) do
    if call('EXISTS', prefix .. ':member:' .. member) == 1 then return { 'running', unit } end
  end
  local stats = call('HMGET', prefix .. ':stats:' .. unit, 'received', 'completed', 'failed')
  pending = pending + (stats[1] or 0) - (stats[2] or 0) - (stats[3] or 0)
  letters = letters + call('ZCARD', prefix .. ':letters:' .. unit)
  unitList[#unitList + 1] = unit
end
if pending + letters > 0 and not mayDiscard then return { 'holding', pending, letters } end

for _, row in ipairs(rows) do call('HDEL', prefix .. ':routes:' .. row[1], row[2]) end
local laneList = {}
for _, name in ipairs(call('SMEMBERS', prefix .. ':lanes')) do
  if string.match(name, '^[^/]*') == service then laneList[#laneList + 1] = name end
end
return { 'done', laneList, unitList, pending, letters }
`);

/** Discards jobs of a lane that nothing subscribes to, a portion at a time. Answers where to go on, 0 at the end. */
export const clearLaneScript: Script = new Script(`${library}${counting}${lanes}${acceptance}${conclusion}${discarding}
local lane, set, cursor = prefix .. ':lane:' .. take() .. ':', take(), take()
local portion = 500
local ids, isList = {}, set == 'wait' or set == 'active'
if isList then
  ids = call('LRANGE', lane .. set, cursor, cursor + portion - 1)
else
  local scanned = call('ZSCAN', lane .. set, cursor, 'COUNT', portion)
  cursor = scanned[1]
  for index = 1, #scanned[2], 2 do ids[#ids + 1] = scanned[2][index] end
end
local discarded = 0
for _, id in ipairs(ids) do
  local unit = call('HGET', lane .. id, 'unit')
  if unit and not isSubscribed(unit) then
    discard(lane, id)
    if set == 'wait' then call('LREM', lane .. set, 1, id) end
    discarded = discarded + 1
  end
end
if isList then cursor = #ids == portion and cursor + portion - discarded or 0 end
writeChanges()
return tostring(cursor)
`);

/** Discards what was set aside of a unit that nothing goes to, a portion at a time; answers how many. */
export const clearParkedScript: Script =
  new Script(`${library}${counting}${lanes}${acceptance}${conclusion}${discarding}
local unit = take()
if isSubscribed(unit) then return 0 end
local entries = call('LPOP', prefix .. ':parked:' .. unit, 500)
if not entries then return 0 end
for _, entry in ipairs(entries) do discard(string.match(entry, '^(.*)\\n(.*)$')) end
writeChanges()
return #entries
`);

/** Removes dead letters of a unit that nothing goes to, a portion at a time; answers how many. */
export const clearLettersScript: Script = new Script(`${library}${letterOf}${subscribed}
local unit = take()
if isSubscribed(unit) then return 0 end
local ids = call('ZRANGE', prefix .. ':letters:' .. unit, 0, 499)
for _, id in ipairs(ids) do
  call('DEL', letterOf(unit, id), letterOf(unit, id) .. ':checkpoints')
  call('ZREM', prefix .. ':letters:' .. unit, id)
end
return #ids
`);

/** Forgets units that nothing goes to, with their lanes, where nothing is in them. The lane of all types goes with the last. */
export const forgetScript: Script = new Script(`${library}${subscribed}
local service = take()
local function forgetLane(name)
  local lane = prefix .. ':lane:' .. name .. ':'
  if call('EXISTS', lane .. 'wait', lane .. 'active', lane .. 'prioritized', lane .. 'delayed') > 0 then return end
  call('SREM', prefix .. ':lanes', name)
  for _, key in ipairs({ 'meta', 'pc', 'events', 'marker', 'stalled', 'stalled-check', 'limiter' }) do
    call('DEL', lane .. key)
  end
end

local forgotten, isSharedLaneInUse = {}, false
while position < #ARGV do
  local unit = take()
  if not isSubscribed(unit) then
    forgotten[unit] = true
    call('DEL', prefix .. ':handlers:' .. unit)
    forgetLane(unit)
  end
end
for _, row in ipairs(call('SMEMBERS', prefix .. ':subscriptions')) do
  local unit = string.match(row, '^%S+ (%S+)')
  if forgotten[unit] then
    call('SREM', prefix .. ':subscriptions', row)
  elseif string.match(unit, '^[^/]*') == service then
    isSharedLaneInUse = true
  end
end
if not isSharedLaneInUse then forgetLane(service) end
call('INCR', prefix .. ':revision')
`);
