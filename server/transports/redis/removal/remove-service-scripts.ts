import { countRecords } from '../counting/count-records.js';
import { counters } from '../counting/counters.js';
import { deadLetters } from '../dead-letters/dead-letter-fragments.js';
import { keyLines } from '../gate/key-lines.js';
import { typeStates } from '../gate/type-states.js';
import { eventLog } from '../lookup/event-log.js';
import { otherLayout } from '../membership/data-layout.js';
import { retainedDescriptions } from '../membership/retained-descriptions.js';
import { liveHandlers, subscribed } from '../membership/subscription-fragments.js';
import { runSuspension } from '../runs/suspended-runs.js';
import { maxDiscarded } from '../scripts/limits.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { discarding } from './discarding.js';

export const unsubscribeScript: Script = new Script({
  name: 'unsubscribe',
  access: 'works',
  purpose:
    'Ends subscriptions of a service, all or those of some service types, unless a live process handles one of them, or events or dead letters would be discarded without permission.',
  argv: 'service, 1 to discard, service type...; no service type means all',
  reply:
    '"layout" if Redis has data in another layout; "none" and the services that subscribe; "running" and a service type; "pending" and the numbers of events and dead letters; or "done" with queues, service types, and both numbers',
  includes: [prelude, countRecords, deadLetters, liveHandlers, otherLayout, typeStates],
  lua: `
-- Its counts, and so the number of pending events, are unknown.
if hasOtherLayout() then return { 'layout' } end
local service, mayDiscard = take(), take() == '1'
local only
while position < #ARGV do
  only = only or {}
  only[take()] = true
end

local found = {}
for _, serviceType in ipairs(call('SMEMBERS', key('subscribed', service))) do
  if not only or only[serviceType] then found[serviceType] = true end
end
if next(found) == nil then return { 'none', unpack(call('SMEMBERS', key('services'))) } end

local serviceTypes, pending, deadLetterCount, sums = {}, 0, 0, unfoldedSums()
for serviceType in pairs(found) do
  if hasLiveHandler(serviceType) then return { 'running', serviceType } end
  local received, completed, failed = string.match(readShares({ serviceType }, sums)[1] or '', '^(%d+) (%d+) (%d+)')
  pending = pending + (received or 0) - (completed or 0) - (failed or 0)
  deadLetterCount = deadLetterCount + countDeadLetters(serviceType)
  serviceTypes[#serviceTypes + 1] = serviceType
end
if pending + deadLetterCount > 0 and not mayDiscard then return { 'pending', pending, deadLetterCount } end

for serviceType in pairs(found) do
  call('HDEL', key('routes', typeOf(serviceType)), serviceType)
  local trigger = call('HGET', key('dispatch', serviceType), 'trigger')
  if trigger then call('HDEL', key('routes', trigger), serviceType .. ' triggered') end
  call('HDEL', key('dispatch', serviceType), 'settings', 'trigger')
  -- A process that stalled may still fetch events.
  call('HSET', key('dispatch', serviceType), 'isOpen', 0)
  call('ZREM', key('turns', stateOf(serviceType).queue), serviceType)
end
local queues = {}
for _, name in ipairs(call('SMEMBERS', key('queues'))) do
  if serviceOf(name) == service then queues[#queues + 1] = name end
end
return { 'done', queues, serviceTypes, pending, deadLetterCount }
`,
});

export const clearQueueScript: Script = new Script({
  name: 'clearQueue',
  access: 'works',
  purpose: `Discards jobs of retired service types from one list of a queue, at most ${maxDiscarded} per call.`,
  argv: 'queue name, list, position',
  reply: 'the next position, 0 at the end; the number of discarded jobs',
  includes: [prelude, counters, subscribed, discarding],
  lua: `
local queue, list, from = queueKey(take()), take(), takeNumber()
local portion = ${maxDiscarded}
local ids = call('LRANGE', queue .. list, from, from + portion - 1)
local discarded = 0
for _, id in ipairs(ids) do
  local serviceType = call('HGET', queue .. id, 'serviceType')
  if serviceType and not isSubscribed(serviceType) then
    discard(queue, id)
    discarded = discarded + 1
  end
end
arrangeTypes()
writeChanges()
return { #ids == portion and from + portion - discarded or 0, discarded }
`,
});

export const clearGateScript: Script = new Script({
  name: 'clearGate',
  access: 'works',
  purpose: `Discards waiting and delayed events and suspended runs of a retired service type, at most ${maxDiscarded} per call.`,
  argv: 'service type',
  reply: 'the number of discarded events',
  includes: [prelude, counters, subscribed, discarding, keyLines, runSuspension],
  lua: `
local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local ids = call('ZRANGE', key('gate', serviceType), 0, ${maxDiscarded - 1})
if #ids == 0 then ids = call('ZRANGE', key('delayed', serviceType), 0, ${maxDiscarded - 1}) end
if #ids == 0 then ids = firstInLines(serviceType, ${maxDiscarded}) end
if #ids == 0 then
  ids = call('HRANDFIELD', key('suspended', serviceType), ${maxDiscarded})
  for _, id in ipairs(ids) do restoreRun(serviceType, id) end
end
for _, id in ipairs(ids) do
  local queue = jobQueue(serviceType, id)
  if queue then discard(queue, id) else leaveGate(serviceType, id) end
end
arrangeTypes()
writeChanges()
return #ids
`,
});

export const clearDeadLettersScript: Script = new Script({
  name: 'clearDeadLetters',
  access: 'works',
  purpose: `Deletes dead letters of a retired service type, at most ${maxDiscarded} per call.`,
  argv: 'service type',
  reply: 'the number of deleted dead letters',
  includes: [prelude, deadLetters, eventLog, subscribed],
  lua: `
local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local ids = call('ZRANGE', key('dead-letters', serviceType), 0, ${maxDiscarded - 1})
for _, id in ipairs(ids) do deleteDeadLetter(serviceType, id) end
writeLog()
return #ids
`,
});

export const forgetScript: Script = new Script({
  name: 'forget',
  access: 'works',
  purpose:
    'Deletes what is left of retired service types, and their queues if those are empty. The queue that the types of a service share is deleted with the last of them.',
  argv: 'service, service type...',
  reply: 'nothing',
  includes: [prelude, liveHandlers, retainedDescriptions, subscribed, typeStates],
  lua: `
local service = take()
local function forgetQueue(name)
  local queue = queueKey(name)
  if call('EXISTS', queue .. 'wait', queue .. 'active') > 0 then return end
  call('SREM', key('queues'), name)
  for _, part in ipairs({ 'meta', 'events', 'marker', 'stalled', 'stalled-check' }) do call('DEL', queue .. part) end
  call('DEL', key('turn', name))
end

while position < #ARGV do
  local serviceType = take()
  -- A process that has registered since is about to subscribe.
  if not isSubscribed(serviceType) and not hasLiveHandler(serviceType) then
    local queue = stateOf(serviceType).queue
    if queue == service then call('HINCRBY', key('settlement', service), 'shared', -1) end
    call('ZREM', key('turns', queue), serviceType)
    call('ZREM', key('due', queue), serviceType)
    call('SREM', key('subscribed', service), serviceType)
    for _, kind in ipairs({ 'handlers', 'dispatch', 'starts', 'overdue', 'lines', 'blocked', 'held', 'windows' }) do
      call('DEL', key(kind, serviceType))
    end
    forgetQueue(serviceType)
  end
end
if call('EXISTS', key('subscribed', service)) == 0 then
  forgetQueue(service)
  call('SREM', key('services'), service)
  call('DEL', key('members', service), key('settlement', service))
  dropDescriptions(service)
end
call('INCR', key('revision'))
`,
});
