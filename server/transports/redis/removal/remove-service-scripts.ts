import { deadLetters } from '../dead-letters/dead-letter-fragments.js';
import { liveHandlers, subscribed } from '../membership/subscription-fragments.js';
import { counters } from '../scripts/counters.js';
import { maxDiscarded } from '../scripts/limits.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { discarding } from './discarding.js';

export const unsubscribeScript: Script = new Script({
  purpose:
    'Ends subscriptions of a service, all or those of some service types, unless a live process handles one of them, or events or dead letters would be discarded without permission.',
  argv: 'service, 1 to discard, service type...; no service type means all',
  reply:
    '"none" and the services that subscribe; "running" and a service type; "pending" and the numbers of events and dead letters; or "done" with queues, service types, and both numbers',
  includes: [prelude, liveHandlers],
  lua: `
local service, mayDiscard = take(), take() == '1'
local only
while position < #ARGV do
  only = only or {}
  only[take()] = true
end

local rows, found, services = {}, {}, {}
for _, row in ipairs(call('SMEMBERS', key('subscriptions'))) do
  local source, field, serviceType = string.match(row, '^(%S+) ((%S+).*)$')
  local owner = serviceOf(serviceType)
  services[owner] = true
  if owner == service and (not only or only[serviceType]) then
    rows[#rows + 1] = { source, field }
    found[serviceType] = true
  end
end
if next(found) == nil then
  local reply = { 'none' }
  for name in pairs(services) do reply[#reply + 1] = name end
  return reply
end

local serviceTypes, pending, deadLetters = {}, 0, 0
for serviceType in pairs(found) do
  if hasLiveHandler(serviceType) then return { 'running', serviceType } end
  local stats = call('HMGET', key('stats', serviceType), 'received', 'completed', 'failed')
  pending = pending + (stats[1] or 0) - (stats[2] or 0) - (stats[3] or 0)
  deadLetters = deadLetters + call('ZCARD', key('dead-letters', serviceType))
  serviceTypes[#serviceTypes + 1] = serviceType
end
if pending + deadLetters > 0 and not mayDiscard then return { 'pending', pending, deadLetters } end

for _, row in ipairs(rows) do call('HDEL', key('routes', row[1]), row[2]) end
local queues = {}
for _, name in ipairs(call('SMEMBERS', key('queues'))) do
  if serviceOf(name) == service then queues[#queues + 1] = name end
end
return { 'done', queues, serviceTypes, pending, deadLetters }
`,
});

export const clearQueueScript: Script = new Script({
  purpose: `Discards jobs of retired service types from one set or list of a queue, at most ${maxDiscarded} per call.`,
  argv: 'queue name, set or list, cursor',
  reply: 'the next cursor as a string, "0" at the end',
  includes: [prelude, counters, subscribed, discarding],
  lua: `
local queue, set, cursor = queueKey(take()), take(), take()
local portion = ${maxDiscarded}
local ids, isList = {}, set == 'wait' or set == 'active'
if isList then
  ids = call('LRANGE', queue .. set, cursor, cursor + portion - 1)
else
  local scanned = call('ZSCAN', queue .. set, cursor, 'COUNT', portion)
  cursor = scanned[1]
  for index = 1, #scanned[2], 2 do ids[#ids + 1] = scanned[2][index] end
end
local discarded = 0
for _, id in ipairs(ids) do
  local serviceType = call('HGET', queue .. id, 'serviceType')
  if serviceType and not isSubscribed(serviceType) then
    discard(queue, id)
    if set == 'wait' then call('LREM', queue .. set, 1, id) end
    discarded = discarded + 1
  end
end
if isList then cursor = #ids == portion and cursor + portion - discarded or 0 end
writeChanges()
return tostring(cursor)
`,
});

export const clearParkedScript: Script = new Script({
  purpose: `Discards parked jobs of a retired service type, at most ${maxDiscarded} per call.`,
  argv: 'service type',
  reply: 'the number of discarded jobs',
  includes: [prelude, counters, subscribed, discarding],
  lua: `
local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local entries = call('LPOP', key('parked', serviceType), ${maxDiscarded})
if not entries then return 0 end
for _, entry in ipairs(entries) do discard(string.match(entry, '^(.*)\\n(.*)$')) end
writeChanges()
return #entries
`,
});

export const clearDeadLettersScript: Script = new Script({
  purpose: `Deletes dead letters of a retired service type, at most ${maxDiscarded} per call.`,
  argv: 'service type',
  reply: 'the number of deleted dead letters',
  includes: [prelude, deadLetters, subscribed],
  lua: `
local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local ids = call('ZRANGE', key('dead-letters', serviceType), 0, ${maxDiscarded - 1})
for _, id in ipairs(ids) do deleteDeadLetter(serviceType, id) end
return #ids
`,
});

export const forgetScript: Script = new Script({
  purpose:
    'Deletes what is left of retired service types, and their queues if those are empty. The queue that the types of a service share is deleted with the last of them.',
  argv: 'service, service type...',
  reply: 'nothing',
  includes: [prelude, subscribed],
  lua: `
local service = take()
local function forgetQueue(name)
  local queue = queueKey(name)
  if call('EXISTS', queue .. 'wait', queue .. 'active', queue .. 'prioritized', queue .. 'delayed') > 0 then return end
  call('SREM', key('queues'), name)
  for _, part in ipairs({ 'meta', 'pc', 'events', 'marker', 'stalled', 'stalled-check', 'limiter' }) do
    call('DEL', queue .. part)
  end
end

local forgotten, isSharedQueueInUse = {}, false
while position < #ARGV do
  local serviceType = take()
  if not isSubscribed(serviceType) then
    forgotten[serviceType] = true
    call('DEL', key('handlers', serviceType))
    forgetQueue(serviceType)
  end
end
for _, row in ipairs(call('SMEMBERS', key('subscriptions'))) do
  local serviceType = string.match(row, '^%S+ (%S+)')
  if forgotten[serviceType] then
    call('SREM', key('subscriptions'), row)
  elseif serviceOf(serviceType) == service then
    isSharedQueueInUse = true
  end
end
if not isSharedQueueInUse then forgetQueue(service) end
call('INCR', key('revision'))
`,
});
