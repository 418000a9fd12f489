import { workflowOf, workflowType } from '../delivery.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../errors.js';
import type { RetireOptions, RetireResult } from '../services.js';
import type { CommandClient } from './connection/command-client.js';
import { otherLayout, otherLayoutError } from './connection/data-epoch.js';
import { prelude } from './connection/keys.js';
import { readArray, readNumber, readString, unexpected } from './connection/reply.js';
import { Script } from './connection/script.js';
import { maxDiscarded } from './connection/script-limits.js';
import { discarding } from './events/attempt-ends.js';
import { deadLetters } from './jobs/dead-letter-fragments.js';
import { eventLog } from './jobs/event-log.js';
import { keyLines } from './jobs/gates.js';
import { typeStates } from './jobs/queue-jobs.js';
import { retainedDescriptions } from './membership/retained-descriptions.js';
import { liveHandlers, subscribed } from './membership/subscription-fragments.js';
import { encodeName, serviceTypeOf, typeOf } from './names.js';
import { runSuspension } from './runs/suspended-runs.js';
import { countRecords } from './statistics/count-records.js';
import { counters } from './statistics/counters.js';

/** Rests of ended subscriptions. */
interface Unsubscribed {
  readonly queues: readonly string[];
  readonly serviceTypes: readonly string[];
  readonly discarded: RetireResult;
}

const queueLists = ['wait', 'active'];

/**
 * Ends subscriptions of a service and clears what they leave behind. If a call is interrupted, the next one completes
 * it.
 *
 * @throws {InvalidOptionError | NotSubscribedError | ServiceRunningError | PendingEventsError | UnexpectedDataError}
 */
export async function removeService(
  commands: CommandClient,
  service: string,
  options: RetireOptions,
): Promise<RetireResult> {
  const { queues, serviceTypes, discarded } = await unsubscribe(commands, service, options);
  // Processes that release or recover jobs move them between the lists, and back to the gates, in the meantime.
  while ((await clearEvents(commands, queues, serviceTypes)) > 0);
  for (const serviceType of serviceTypes) await clear(commands, clearDeadLettersScript, serviceType);
  await commands.runScript(forgetScript, [encodeName(service), ...serviceTypes]);
  return discarded;
}

async function unsubscribe(
  commands: CommandClient,
  service: string,
  { only = [], discard = false }: RetireOptions,
): Promise<Unsubscribed> {
  const chosen = only.flatMap((name) => [name, workflowType(name)]).map((type) => serviceTypeOf(service, type));
  const args = [encodeName(service), discard ? '1' : '', ...chosen];
  const [result, ...details] = readArray(await commands.runScript(unsubscribeScript, args));
  if (result === 'layout') throw otherLayoutError();
  if (result === 'none') {
    throw new NotSubscribedError(service, only, details.map(readString).map(decodeURIComponent));
  }
  if (result === 'running') {
    const type = typeOf(readString(details[0]));
    throw new ServiceRunningError(service, workflowOf(type) ?? type);
  }
  if (result === 'pending') {
    throw new PendingEventsError(service, readNumber(details[0]), readNumber(details[1]));
  }
  if (result !== 'done') throw unexpected('a result of unsubscribing', result);
  const [queues, serviceTypes, events, deadLetters] = details;
  return {
    queues: readArray(queues).map(readString),
    serviceTypes: readArray(serviceTypes).map(readString),
    // Counted before they are discarded: a live process of the service may discard some of them first.
    discarded: { events: readNumber(events), deadLetters: readNumber(deadLetters) },
  };
}

/** Returns the number of events that it found and discarded. */
async function clearEvents(
  commands: CommandClient,
  queues: readonly string[],
  serviceTypes: readonly string[],
): Promise<number> {
  let discarded = 0;
  for (const queue of queues) {
    for (const list of queueLists) discarded += await clearQueue(commands, queue, list);
  }
  for (const serviceType of serviceTypes) discarded += await clear(commands, clearGateScript, serviceType);
  return discarded;
}

async function clearQueue(commands: CommandClient, queue: string, list: string): Promise<number> {
  let [position, discarded] = [0, 0];
  do {
    const reply = readArray(await commands.runScript(clearQueueScript, [queue, list, position])).map(readNumber);
    position = reply[0] ?? 0;
    discarded += reply[1] ?? 0;
  } while (position > 0);
  return discarded;
}

async function clear(commands: CommandClient, script: Script, serviceType: string): Promise<number> {
  let [cleared, sum] = [0, 0];
  do {
    cleared = readNumber(await commands.runScript(script, [serviceType]));
    sum += cleared;
  } while (cleared > 0);
  return sum;
}

const unsubscribeScript: Script = new Script({
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

const clearQueueScript: Script = new Script({
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

const clearDeadLettersScript: Script = new Script({
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
