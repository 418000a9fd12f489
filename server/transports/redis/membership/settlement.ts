import type { Redis } from 'ioredis';
import type { Logger, RateLimit, Subscription } from '../../transport.js';
import { prelude, redisKey } from '../connection/keys.js';
import { readArray, readString, unexpected } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { keptQueueEvents, maxTypesPerScript } from '../connection/script-limits.js';
import { gates } from '../jobs/gates.js';
import { overdueSlots } from '../jobs/overdue-slots.js';
import { encodeName, serviceTypeOf } from '../names.js';
import { withoutArguments } from '../redis-errors.js';
import { liveHandlers, subscribed } from './subscription-fragments.js';

/** `limitKeys(serviceType, limits)` changes the limits per key, also of what waits and runs. */
const keyLimits = new LuaFragment(
  `
local function holdTakenJobs(serviceType)
  for _, name in ipairs(call('SMEMBERS', key('queues'))) do
    if serviceOf(name) == serviceOf(serviceType) then
      for _, list in ipairs({ 'wait', 'active' }) do
        for _, id in ipairs(call('LRANGE', queueKey(name) .. list, 0, -1)) do
          local owner, lineKey = unpack(call('HMGET', queueKey(name) .. id, 'serviceType', 'key'))
          if owner == serviceType and lineKey then holdKey(serviceType, queueKey(name) .. id, lineKey) end
        end
      end
    end
  end
end

local function limitKeys(serviceType, limits)
  local dispatch = key('dispatch', serviceType)
  local json = limits and cjson.encode(limits)
  if json == (call('HGET', dispatch, 'keys') or nil) then return end
  if not json then
    call('HDEL', dispatch, 'keys')
    return
  end
  call('HSET', dispatch, 'keys', json, 'hadKeys', 1)
  holdTakenJobs(serviceType)
  -- All lines are arranged anew, some with each call of openLines.
  local lines, blocked = key('lines', serviceType), key('blocked', serviceType)
  call('ZUNIONSTORE', blocked, 2, blocked, lines, 'WEIGHTS', 0, 0)
  call('DEL', lines)
end
`,
  [gates, prelude],
);

/** `putIntoEffect(serviceType, json)` puts the settings of a process into effect: route, trigger, limits. */
const settings = new LuaFragment(
  `
local function putIntoEffect(serviceType, json)
  local wanted = cjson.decode(json)
  local dispatch = key('dispatch', serviceType)
  local route = { serviceType = serviceType, type = wanted.type, retainsRuns = wanted.retainsRuns, debounce = wanted.debounce }
  subscribe(serviceType, route)

  local field = serviceType .. ' triggered'
  local formerTrigger = call('HGET', dispatch, 'trigger')
  local trigger = wanted.trigger
  if formerTrigger and formerTrigger ~= trigger then call('HDEL', key('routes', formerTrigger), field) end
  call('HDEL', dispatch, 'trigger')
  if trigger then
    route.isTriggered = true
    call('HSET', dispatch, 'trigger', trigger)
    call('HSET', key('routes', trigger), field, cjson.encode(route))
  end

  for _, limit in ipairs({ 'concurrency', 'max', 'perMs', 'keepCompleted', 'keepFailed', 'keepMs' }) do
    if wanted[limit] then call('HSET', dispatch, limit, wanted[limit]) else call('HDEL', dispatch, limit) end
  end
  if wanted.retainsRuns then call('HSET', dispatch, 'hadRuns', 1) end
  call('HSET', dispatch, 'settings', json)
  limitKeys(serviceType, wanted.keys)
end
`,
  [keyLimits, subscribed],
);

/**
 * `settle(serviceType)` decides by the members of the service where the events of a service type go. The settings of
 * the process that started last hold; if no process handles the type, the last ones do, and its gate is closed. A type
 * without limits that all members handle goes through the queue that the service shares, so that no process receives
 * an event that it cannot run.
 */
const settlement = new LuaFragment(
  `
local members, memberCount
local function readMembers(service)
  local list = call('ZRANGE', key('members', service), 0, -1, 'WITHSCORES')
  for index = 1, #list, 2 do members[list[index]] = tonumber(list[index + 1]) end
  memberCount = #list / 2
end

local takenByType
local function countTakenJobs(serviceType)
  if not takenByType then
    takenByType = {}
    for _, name in ipairs(call('SMEMBERS', key('queues'))) do
      if serviceOf(name) == serviceOf(serviceType) then
        for _, list in ipairs({ 'wait', 'active' }) do
          for _, id in ipairs(call('LRANGE', queueKey(name) .. list, 0, -1)) do
            local owner = call('HGET', queueKey(name) .. id, 'serviceType')
            if owner then takenByType[owner] = (takenByType[owner] or 0) + 1 end
          end
        end
      end
    end
  end
  return (takenByType[serviceType] or 0) + call('HLEN', key('overdue', serviceType))
end

local function latestHandler(serviceType)
  local handlers = call('HGETALL', key('handlers', serviceType))
  local count, latest, json = 0, -1, nil
  for index = 1, #handlers, 2 do
    local process, order = handlers[index], members[handlers[index]]
    if order then
      count = count + 1
      if order > latest then latest, json = order, handlers[index + 1] end
    elseif not isLive(process) then
      call('HDEL', key('handlers', serviceType), process)
      dropSlots(serviceType, process)
    end
  end
  return json, count
end

local function assign(serviceType, queue)
  local former = stateOf(serviceType).queue
  local service = serviceOf(serviceType)
  call('HSET', key('dispatch', serviceType), 'queue', queue)
  call('SADD', key('queues'), queue)
  call('HSET', queueKey(queue) .. 'meta', 'opts.maxLenEvents', ${keptQueueEvents})
  if queue == former then return end
  endTurn(serviceType)
  call('ZREM', key('due', former), serviceType)
  if queue == service then call('HINCRBY', key('settlement', service), 'shared', 1) end
  if former == service then call('HINCRBY', key('settlement', service), 'shared', -1) end
end

local function settle(serviceType)
  local dispatch = key('dispatch', serviceType)
  local json, handlerCount = latestHandler(serviceType)
  local former, isOpen, queue, concurrency, max =
    unpack(call('HMGET', dispatch, 'settings', 'isOpen', 'queue', 'concurrency', 'max'))
  if not json then
    if isOpen ~= '1' then return end
    call('HSET', dispatch, 'isOpen', 0)
  else
    local isChanged = json ~= former or not isSubscribed(serviceType)
    if isChanged then
      putIntoEffect(serviceType, json)
      concurrency, max = unpack(call('HMGET', dispatch, 'concurrency', 'max'))
    end
    local wanted = serviceType
    if not concurrency and not max and handlerCount == memberCount then wanted = serviceOf(serviceType) end
    if not isChanged and isOpen == '1' and queue == wanted and not concurrency then return end
    call('HSET', dispatch, 'isOpen', 1)
    if queue ~= wanted then assign(serviceType, wanted) end
    call('HSET', dispatch, 'taken', countTakenJobs(serviceType))
  end
  states[serviceType] = nil
  arrange(serviceType)
end
`,
  [gates, liveHandlers, overdueSlots, settings],
  'members, memberCount, takenByType = {}, 0, nil',
);

export const settleScript: Script = new Script({
  name: 'settle',
  access: 'works',
  purpose: `Settles service types of a service, about ${maxTypesPerScript} per call.`,
  argv: 'service, cursor',
  reply: 'the next cursor, "0" at the end',
  includes: [prelude, settlement],
  lua: `
local service, cursor = take(), take()
readMembers(service)
local page = call('SSCAN', key('subscribed', service), cursor, 'COUNT', ${maxTypesPerScript})
for _, serviceType in ipairs(page[2]) do settle(serviceType) end
return page[1]
`,
});

export const announceSettlementScript: Script = new Script({
  name: 'announceSettlement',
  access: 'works',
  purpose: 'Notes that all service types of a service are settled, and tells its processes.',
  argv: 'service, number of membership changes that the settlement includes',
  reply: 'nothing',
  includes: [prelude],
  lua: `
local service, change = take(), take()
local settlement = key('settlement', service)
if call('HGET', settlement, 'changes') == change then call('HSET', settlement, 'settled', change) end
call('INCR', key('revision'))
-- Without the permission the processes learn of it with their next heartbeat.
redis.pcall('PUBLISH', key('settled'), service)
`,
});

export const servedQueuesScript: Script = new Script({
  name: 'servedQueues',
  access: 'works',
  purpose:
    'Lists the worker queues that a process has to serve: those of types that it handles, and those that still hold jobs. Forgets queues that are no longer in use.',
  argv: 'service, process id',
  reply: 'for each: name; "none" if the gate limits its events, "own" if their type has only a rate, or "shared" slots',
  includes: [prelude],
  lua: `
local service, process = take(), take()
local served = {}
for _, name in ipairs(call('SMEMBERS', key('queues'))) do
  if serviceOf(name) == service then
    local queue = queueKey(name)
    local holdsJobs = call('EXISTS', queue .. 'wait', queue .. 'active') > 0
    if name == service then
      if holdsJobs or tonumber(call('HGET', key('settlement', service), 'shared') or 0) > 0 then
        served[#served + 1] = { name, 'shared' }
      end
    else
      local current, isOpen, concurrency, max = unpack(call('HMGET', key('dispatch', name), 'queue', 'isOpen', 'concurrency', 'max'))
      local isHandled = call('HEXISTS', key('handlers', name), process) == 1
      if current == name and isHandled then
        served[#served + 1] = { name, concurrency and 'none' or max and 'own' or 'shared' }
      elseif holdsJobs and (isHandled or isOpen ~= '1') then
        served[#served + 1] = { name, 'shared' }
      elseif not holdsJobs and current ~= name then
        call('SREM', key('queues'), name)
        for _, part in ipairs({ 'meta', 'events', 'marker', 'stalled', 'stalled-check' }) do call('DEL', queue .. part) end
        call('DEL', key('turn', name))
      end
    end
  end
end
return served
`,
});

/** Worker queue that a process serves. */
export interface ServedQueue {
  readonly name: string;
  /**
   * Slots that its jobs take: those that the process has for types without limits, as many of their own, or none,
   * because the gate limits them.
   */
  readonly slots: 'shared' | 'own' | 'none';
}

/** Returns the reply of `servedQueuesScript`. */
export function readServedQueues(reply: unknown): ServedQueue[] {
  return readArray(reply).map((row) => {
    const [name, slots] = readArray(row).map(readString);
    return { name: name ?? '', slots: readSlots(slots) };
  });
}

function readSlots(slots: string | undefined): ServedQueue['slots'] {
  if (slots === 'shared' || slots === 'own' || slots === 'none') return slots;
  throw unexpected('the slots of a queue', slots);
}

/** One service type, and the settings of a process for it as the settlement reads them. */
export interface TypeSettings {
  readonly serviceType: string;
  readonly json: string;
}

/** Returns the settings of a subscription. Equal settings have equal JSON. */
export function typeSettings(service: string, subscription: Subscription): TypeSettings {
  const { type, concurrency, rate, retainsRuns, retain, trigger, perKey, debounce } = subscription;
  const settings = {
    type,
    concurrency,
    ...limitsOf(rate),
    keys: perKey === undefined ? undefined : { concurrency: perKey.concurrency, ...limitsOf(perKey.rate) },
    debounce: debounce === undefined ? undefined : { ms: debounce.ms, maxMs: debounce.maxMs },
    retainsRuns: retainsRuns === true ? true : undefined,
    keepCompleted: retain?.completed,
    keepFailed: retain?.failed,
    keepMs: retain?.ageMs === undefined ? undefined : Math.ceil(retain.ageMs),
    trigger: trigger === undefined ? undefined : encodeName(trigger),
  };
  return { serviceType: serviceTypeOf(service, type), json: JSON.stringify(settings) };
}

function limitsOf(rate: RateLimit | undefined): { readonly max?: number; readonly perMs?: number } {
  return rate === undefined ? {} : { max: rate.max, perMs: Math.ceil(rate.perMs) };
}

/** Listens for settlements of a service. Without it a process learns of them with its next heartbeat. */
export class SettlementListener {
  readonly #connection: Redis;
  readonly #logger: Logger;

  constructor(connection: Redis, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  async start(prefix: string, service: string, onSettled: () => void): Promise<void> {
    const channel = redisKey(prefix, 'settled');
    this.#connection.on('message', (from: string, message: string) => {
      if (from === channel && message === service) onSettled();
    });
    await this.#subscribe(channel);
    // Announcements are lost while the connection is.
    this.#connection.on('ready', () => void this.#subscribe(channel).then(onSettled));
  }

  async #subscribe(channel: string): Promise<void> {
    try {
      await this.#connection.subscribe(channel);
    } catch (error) {
      this.#logger.warn(
        { err: withoutArguments(error) },
        'could not subscribe to settlements; starts and stops of other processes take up to 5 s to take effect',
      );
    }
  }

  close(): void {
    this.#connection.disconnect();
  }
}
