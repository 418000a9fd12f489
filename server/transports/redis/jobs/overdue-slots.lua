--- @include "../connection/prelude.lua"
--- @include "./key-queues.lua"

-- Slots of handlers that run on after their outcome. They count as taken until the handler returns, or its process is
-- dead, and so does the slot of their key. `keepSlot(serviceType, token, id, starts, job)` begins that,
-- `dropSlots(serviceType, process)` ends it for a dead process.

-- A worker uses a token again.
local function overdueLease(token, id, starts)
  return table.concat({ token, id, starts }, ' ')
end

local function keepSlot(serviceType, token, id, starts, job)
  local keyName = call('HGET', job, 'held') or ''
  call('HSET', key('overdue', serviceType), overdueLease(token, id, starts), keyName)
  if keyName ~= '' then addHeld(serviceType, keyName, 1) end
end

local function dropSlot(serviceType, lease)
  local overdue = key('overdue', serviceType)
  local keyName = call('HGET', overdue, lease)
  if not keyName then return false end
  call('HDEL', overdue, lease)
  if keyName ~= '' then addHeld(serviceType, keyName, -1) end
  return true
end

local function dropSlots(serviceType, process)
  for _, lease in ipairs(call('HKEYS', key('overdue', serviceType))) do
    if processOf(lease) == process then dropSlot(serviceType, lease) end
  end
end
