import { keptQueueEvents, maxUnparked } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { queueMoves } from '../scripts/queue-moves.js';
import { Script } from '../scripts/script.js';
import { subscribed } from './subscription-fragments.js';

// Processes with the same description share one copy of it, stored under its hash.
const heartbeat = new LuaFragment(
  `
local process, ttlMs, hash = take(), take(), take()
local knownHash = call('GET', key('process', process))
local function heartbeat()
  if knownHash ~= hash then call('INCR', key('revision')) end
  call('SET', key('process', process), hash, 'PX', ttlMs)
  call('SADD', key('processes'), process)
  return call('PEXPIRE', key('description', hash), ttlMs)
end
`,
  [prelude],
);

export const joinScript: Script = new Script({
  purpose:
    'Registers a process and its subscriptions: which types its service handles, in which queue, under which limits. A process that registers again leaves recorded subscriptions as they are: a process of its service that started later may have set them.',
  argv: 'process id, lifetime in ms, hash of the description, 1 at the start of the process, subscription table',
  reply: '0 if the description has yet to be stored, else 1',
  includes: [prelude, subscribed, heartbeat],
  lua: `
local isStart = take() == '1'
local limits = { 'concurrency', 'max', 'duration' }
local records, rows = {}, {}
for _ = 1, takeNumber() do
  local source, field, route, serviceType, queueName = take(), take(), take(), take(), take()
  local values = { take(), take(), take() }
  call('SADD', key('handlers', serviceType), process)
  if records[serviceType] == nil then records[serviceType] = isStart or not isSubscribed(serviceType) end
  if records[serviceType] then
    call('HSET', key('routes', source), field, route)
    rows[source .. ' ' .. field] = true
    call('SADD', key('queues'), queueName)
    local meta = queueKey(queueName) .. 'meta'
    call('HSET', meta, 'opts.maxLenEvents', ${keptQueueEvents})
    -- BullMQ applies these limits to all workers. They must not stay on a separate queue that the type had before.
    call('HDEL', queueKey(serviceType) .. 'meta', unpack(limits))
    for index, limit in ipairs(limits) do
      if values[index] ~= '' then call('HSET', meta, limit, values[index]) end
    end
  end
end
-- Removes triggers of earlier versions of a workflow.
for _, row in ipairs(call('SMEMBERS', key('subscriptions'))) do
  local source, field, serviceType = string.match(row, '^(%S+) ((%S+) triggered)$')
  if records[serviceType] and not rows[row] then
    call('HDEL', key('routes', source), field)
    call('SREM', key('subscriptions'), row)
  end
end
for row in pairs(rows) do call('SADD', key('subscriptions'), row) end
call('INCR', key('revision'))
return heartbeat()
`,
});

export const heartbeatScript: Script = new Script({
  purpose: 'Extends the registration of a process.',
  argv: 'process id, lifetime in ms, hash of the description',
  reply: 'as joinScript; nothing if the process is not registered, or its registration has expired',
  includes: [prelude, heartbeat],
  lua: `
return knownHash and heartbeat()
`,
});

export const describeScript: Script = new Script({
  purpose: 'Stores the description that processes share.',
  argv: 'hash, description, lifetime in ms',
  reply: 'nothing',
  includes: [prelude],
  lua: `
local hash, description, ttlMs = take(), take(), take()
call('SET', key('description', hash), description, 'PX', ttlMs)
call('INCR', key('revision'))
`,
});

export const leaveScript: Script = new Script({
  purpose: 'Removes the registration of a process.',
  argv: 'process id, service type...',
  reply: 'nothing',
  includes: [prelude],
  lua: `
local process = take()
call('DEL', key('process', process))
call('SREM', key('processes'), process)
while position < #ARGV do call('SREM', key('handlers', take()), process) end
call('INCR', key('revision'))
`,
});

export const unparkScript: Script = new Script({
  purpose: `Returns parked jobs of service types to their queues, at most ${maxUnparked} per call.`,
  argv: 'service type...',
  reply: 'the number of jobs',
  includes: [prelude, queueMoves],
  lua: `
local moved = 0
while position < #ARGV do
  local parked = key('parked', take())
  while moved < ${maxUnparked} do
    local entry = call('RPOP', parked)
    if not entry then break end
    local queue, id = string.match(entry, '^(.*)\\n(.*)$')
    call('LPUSH', queue .. 'wait', id)
    wakeWorker(queue)
    moved = moved + 1
  end
end
return moved
`,
});

export const filledQueuesScript: Script = new Script({
  purpose: 'Lists the worker queues of a service that hold jobs.',
  argv: 'service',
  reply: 'the names of the queues',
  includes: [prelude],
  lua: `
local service = take()
local filled = {}
for _, name in ipairs(call('SMEMBERS', key('queues'))) do
  local queue = queueKey(name)
  local isOfService = serviceOf(name) == service
  if isOfService and call('EXISTS', queue .. 'wait', queue .. 'active', queue .. 'prioritized', queue .. 'delayed') > 0 then
    filled[#filled + 1] = name
  end
end
return filled
`,
});
