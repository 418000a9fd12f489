import { counters } from '../counting/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { dataLayout, otherLayout } from './data-layout.js';
import { retainedDescriptions } from './retained-descriptions.js';
import { liveHandlers, subscribed } from './subscription-fragments.js';

// Processes with the same description share one copy of it, stored under its hash.
const heartbeat = new LuaFragment(
  `
local function registerProcess(process, ttlMs, hash, state, consumerOf)
  if call('GET', key('process', process)) ~= hash then call('INCR', key('revision')) end
  call('SET', key('process', process), hash, 'PX', ttlMs)
  if state ~= '' then call('SET', key('state', process), state, 'PX', ttlMs) end
  if call('ZREMRANGEBYSCORE', key('registrations'), '-inf', now) > 0 then call('INCR', key('revision')) end
  call('ZADD', key('registrations'), now + ttlMs, process)
  return keepDescription(hash, ttlMs, consumerOf)
end

-- Returns the number of changes of the service's members, and the last one that is settled.
local function changesOfMembers(service)
  local changes, settled = unpack(call('HMGET', key('settlement', service), 'changes', 'settled'))
  return changes or '0', settled or '0'
end
`,
  [prelude, retainedDescriptions],
);

export const startOrderScript: Script = new Script({
  name: 'startOrder',
  access: 'works',
  purpose: 'Returns the place of a process in the order of starts.',
  argv: 'nothing',
  reply: 'a number that grows with each call; nothing if the data has another layout',
  includes: [prelude, otherLayout],
  lua: `
if hasOtherLayout() then return nil end
return call('INCR', key('sequence'))
`,
});

export const registerScript: Script = new Script({
  name: 'register',
  access: 'works',
  purpose: 'Registers a process and the settings of some of the types that it handles. They have no effect yet.',
  argv: 'process id, lifetime in ms, hash of the description, state, service if the process consumes, (service type, settings as JSON)...',
  reply: '0 if the description has yet to be stored, else 1',
  includes: [prelude, heartbeat],
  lua: `
local process = take()
local isDescribed = registerProcess(process, take(), take(), take(), take())
-- Again after a loss of all data.
call('SETNX', key('layout'), ${dataLayout})
while position < #ARGV do
  local serviceType, settings = take(), take()
  call('HSET', key('handlers', serviceType), process, settings)
  call('SADD', key('subscribed', serviceOf(serviceType)), serviceType)
end
return isDescribed
`,
});

export const declareScript: Script = new Script({
  name: 'declare',
  access: 'works',
  purpose: 'Keeps events of declared types for services that have not started yet.',
  argv: '(service type, type)...',
  reply: 'nothing',
  includes: [prelude, counters, subscribed],
  lua: `
while position < #ARGV do
  local serviceType, type = take(), take()
  if not isSubscribed(serviceType) then
    subscribe(serviceType, { serviceType = serviceType, type = type })
    changesOf(serviceType)
  end
end
writeChanges()
call('INCR', key('revision'))
`,
});

export const enterScript: Script = new Script({
  name: 'enter',
  access: 'works',
  purpose: 'Makes a registered process a member of its service, which is to be settled anew.',
  argv: 'service, process id, place in the order of starts',
  reply: 'number of membership changes',
  includes: [prelude],
  lua: `
local service, process, order = take(), take(), take()
-- After a loss of data the numbers begin anew, and processes that start from now on come after this one.
if tonumber(order) > tonumber(call('GET', key('sequence')) or 0) then call('SET', key('sequence'), order) end
call('ZADD', key('members', service), order, process)
return call('HINCRBY', key('settlement', service), 'changes', 1)
`,
});

export const heartbeatScript: Script = new Script({
  name: 'heartbeat',
  access: 'works',
  purpose: 'Extends the registration of a process, and removes dead members of its service.',
  argv: 'process id, lifetime in ms, hash of the description, state, service if the process consumes, service',
  reply:
    'nothing if the process is not registered; else 0 if the description has yet to be stored or 1, number of membership changes, the last one that is settled',
  includes: [prelude, heartbeat, liveHandlers],
  lua: `
local process, ttlMs, hash, state, consumerOf, service = take(), take(), take(), take(), take(), take()
local members = key('members', service)
if not isLive(process) or consumerOf ~= '' and not call('ZSCORE', members, process) then return nil end
for _, member in ipairs(call('ZRANGE', members, 0, -1)) do
  if not isLive(member) then
    call('ZREM', members, member)
    call('ZREM', key('registrations'), member)
    call('HINCRBY', key('settlement', service), 'changes', 1)
    call('INCR', key('revision'))
  end
end
return { registerProcess(process, ttlMs, hash, state, consumerOf), changesOfMembers(service) }
`,
});

export const describeScript: Script = new Script({
  name: 'describe',
  access: 'works',
  purpose: 'Stores the description that processes share, in place of the former one of the process.',
  argv: 'hash, description, lifetime in ms, service if the process consumes, hash of the former description or nothing',
  reply: 'nothing',
  includes: [prelude, retainedDescriptions],
  lua: `
local hash, description, ttlMs, consumerOf, former = take(), take(), take(), take(), take()
call('SET', key('description', hash), description, 'PX', ttlMs)
if consumerOf ~= '' then retainDescription(consumerOf, hash, ttlMs, former) end
call('INCR', key('revision'))
`,
});

export const leaveScript: Script = new Script({
  name: 'leave',
  access: 'works',
  purpose: 'Removes the registration of a process. Its settings are forgotten by the next settlement.',
  argv: 'process id, service',
  reply: 'number of membership changes; nothing if the process was no member',
  includes: [prelude],
  lua: `
local process, service = take(), take()
call('DEL', key('process', process), key('state', process))
call('ZREM', key('registrations'), process)
call('INCR', key('revision'))
if call('ZREM', key('members', service), process) == 0 then return nil end
return call('HINCRBY', key('settlement', service), 'changes', 1)
`,
});
