import { gates } from '../gate/gates.js';
import { counters } from '../scripts/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { runEntries } from './run-entries.js';

/**
 * Open waits of runs. The first condition that comes true resolves a wait: the resolution becomes an entry of the run,
 * and the run becomes ready if it is suspended.
 *
 * - `openWait(serviceType, id, name)` returns a wait; `addWait(serviceType, id, name, wait)` stores one
 * - `resolveByTime(serviceType, id, name)`, `resolveByEvent(envelope)`, `resolveByRun(parent, id, outcome)` resolve
 * - `resolveDue(serviceType, limit)` resolves the waits of a service type whose time has come
 * - `dropWaits(serviceType, id)` forgets the waits of a run, and returns them
 * - `resumeRun(serviceType, id)` makes a suspended run ready
 */
export const runWaits: LuaFragment = new LuaFragment(
  `
local awaitedTypes
local function isAwaited(type)
  if awaitedTypes[type] == nil then awaitedTypes[type] = call('HEXISTS', key('awaited'), type) == 1 end
  return awaitedTypes[type]
end

local function decodeName(name)
  return (string.gsub(name, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

local function waitersOf(event)
  return event.key == '' and key('waiting', event.type) or key('waiting', event.type, event.key)
end

local function waitName(serviceType, id, name)
  return serviceType .. ':' .. id .. ':' .. name
end

local function openWait(serviceType, id, name)
  local json = call('HGET', key('run', serviceType, id, 'waits'), name)
  return json and cjson.decode(json)
end

local function addWait(serviceType, id, name, wait)
  call('HSET', key('run', serviceType, id, 'waits'), name, cjson.encode(wait))
  if wait.dueAt then
    call('ZADD', key('timers', serviceType), wait.dueAt, id .. ':' .. name)
    local state = stateOf(serviceType)
    if not state.hasTimers then
      state.hasTimers = true
      call('HSET', key('dispatch', serviceType), 'hasTimers', 1)
    end
    changedTypes[serviceType] = true
  end
  if wait.isApproval then
    call('ZADD', key('approvals', serviceType), wait.since, id .. ':' .. name)
    -- Types without approvals are counted without a look at their key.
    call('HSET', key('stats', serviceType), 'hasApprovals', 1)
  end
  if wait.event then
    awaitedTypes[wait.event.type] = true
    call('SADD', waitersOf(wait.event), waitName(serviceType, id, name))
    call('HINCRBY', key('awaited'), wait.event.type, 1)
  end
  announceChange(serviceType, id)
end

local function removeWait(serviceType, id, name, wait)
  call('HDEL', key('run', serviceType, id, 'waits'), name)
  if wait.dueAt then
    call('ZREM', key('timers', serviceType), id .. ':' .. name)
    changedTypes[serviceType] = true
  end
  if wait.isApproval then call('ZREM', key('approvals', serviceType), id .. ':' .. name) end
  if wait.event then
    call('SREM', waitersOf(wait.event), waitName(serviceType, id, name))
    if call('HINCRBY', key('awaited'), wait.event.type, -1) <= 0 then call('HDEL', key('awaited'), wait.event.type) end
  end
end

local function resumeRun(serviceType, id)
  if call('SREM', key('suspended', serviceType), id) == 0 then return false end
  local queue = call('HGET', key('run', serviceType, id), 'queue')
  enterGate(serviceType, id, call('HGET', queue .. id, 'order'))
  return true
end

local function resolve(serviceType, id, name, wait, fields, output)
  removeWait(serviceType, id, name, wait)
  local shown = string.format('{%s,"since":%.0f,"at":%.0f', fields, wait.since, now)
  if output == '' then shown = shown .. '}' else shown, output = shown .. output[1] .. 'null}', output[2] .. '}' end
  appendEntry(serviceType, id, name, 0, shown, output)
  changesOf(serviceType)
  if resumeRun(serviceType, id) then return end
  local queue = call('HGET', key('run', serviceType, id), 'queue')
  local token = call('GET', queue .. id .. ':lock')
  if token then notify(string.match(token, '^[^.]*'), { serviceType = serviceType, id = id, recorded = true }) end
end

local function resolveByTime(serviceType, id, name)
  local wait = openWait(serviceType, id, name)
  if wait then resolve(serviceType, id, name, wait, '"by":"time"', '') end
end

local function resolveByEvent(envelope)
  if not isAwaited(envelope.type) then return end
  local waiters = call('SMEMBERS', key('waiting', envelope.type))
  if envelope.key ~= '' then
    for _, waiter in ipairs(call('SMEMBERS', key('waiting', envelope.type, envelope.key))) do waiters[#waiters + 1] = waiter end
  end
  if #waiters == 0 then return end
  local body = string.match(envelope.head, ',"body":(".*")$')
  local payload = cjson.decode('[' .. body .. ']')[1]
  local fields = '"by":"event","id":' .. cjson.encode(decodeName(string.sub(envelope.id, 3)))
  for _, waiter in ipairs(waiters) do
    local serviceType, id, name = string.match(waiter, '^([^:]*):([^:]*):(.*)$')
    local wait = openWait(serviceType, id, name)
    if wait and wait.dueAt and wait.dueAt <= now then
      resolveByTime(serviceType, id, name)
    elseif wait then
      resolve(serviceType, id, name, wait, fields, { ',"payload":', payload })
    end
  end
end

local function resolveByRun(parentJson, id, outcome)
  local parent = cjson.decode(parentJson)
  local serviceType, parentId, name = parent[1], parent[2], decodeName(parent[3])
  local wait = openWait(serviceType, parentId, name)
  if not wait or not wait.child or wait.child.id ~= id then return end
  local fields = '"by":"run","id":' .. cjson.encode(decodeName(string.sub(id, 3))) .. ',"status":"' .. outcome.status .. '"'
  if outcome.status == 'failed' then
    resolve(serviceType, parentId, name, wait, fields .. ',"error":' .. outcome.value, '')
  else
    local result = outcome.value == '' and 'null' or outcome.value
    resolve(serviceType, parentId, name, wait, fields, { ',"result":', result })
  end
end

local function resolveDue(serviceType, limit)
  local due = call('ZRANGEBYSCORE', key('timers', serviceType), '-inf', now, 'LIMIT', 0, limit)
  for _, member in ipairs(due) do
    local id, name = string.match(member, '^([^:]*):(.*)$')
    call('ZREM', key('timers', serviceType), member)
    resolveByTime(serviceType, id, name)
  end
  return #due
end

local function dropWaits(serviceType, id)
  local waits = key('run', serviceType, id, 'waits')
  if call('EXISTS', waits) == 0 then return {} end
  local list, fields = {}, call('HGETALL', waits)
  for index = 1, #fields, 2 do
    local wait = cjson.decode(fields[index + 1])
    removeWait(serviceType, id, fields[index], wait)
    list[#list + 1] = wait
  end
  return list
end
`,
  [counters, gates, runEntries],
  'awaitedTypes = {}',
);
