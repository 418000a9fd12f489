--- @include "../connection/prelude.lua"
--- @include "./event-log.lua"

-- `deadLetterKey(serviceType, id)`, `deadLetterKeys(serviceType, id)`, `deleteDeadLetter(serviceType, id)`,
-- `countDeadLetters(serviceType)`. Redis deletes a dead letter with a maximum age; `forgetExpired(serviceType)` deletes
-- what names it.

local function deadLetterKey(serviceType, id)
  return key('dead-letter', serviceOf(serviceType), id)
end
local function deadLetterKeys(serviceType, id)
  local deadLetter = deadLetterKey(serviceType, id)
  return { deadLetter, deadLetter .. ':order', deadLetter .. ':checkpoints', deadLetter .. ':outputs' }
end

local function deleteDeadLetter(serviceType, id)
  -- A record of the event keeps it in the index.
  if not isLogged(serviceType, id) and not hasRetainedRun(serviceType, id) then
    unindexEvent(serviceType, id, requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')))
  end
  call('DEL', unpack(deadLetterKeys(serviceType, id)))
  call('ZREM', key('dead-letters', serviceType), id)
  call('ZREM', key('expiring', serviceType), id)
end

local function countDeadLetters(serviceType)
  return call('ZCARD', key('dead-letters', serviceType)) - call('ZCOUNT', key('expiring', serviceType), '-inf', now)
end

local function forgetExpired(serviceType)
  local expired = call('ZRANGEBYSCORE', key('expiring', serviceType), '-inf', now, 'LIMIT', 0, constants.maxEvictedDeadLetters)
  for _, id in ipairs(expired) do deleteDeadLetter(serviceType, id) end
  endIndexing(serviceType)
end
