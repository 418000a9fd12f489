--- @include "../connection/prelude.lua"

-- `addRun(serviceType, id, queue, sequence, run)` stores a new run with its `data`, `shown`, `acceptedAt` and `attempt`.

local function addRun(serviceType, id, queue, sequence, run)
  call('HSET', key('run', serviceType, id), 'data', run.data, 'shown', run.shown, 'acceptedAt', run.acceptedAt,
    'attempt', run.attempt, 'queue', queue)
  call('ZADD', key('runs', serviceType), sequence, id)
end

-- Recorded entries of a run, in the order of recording.
--
-- - `appendEntry(serviceType, id, name, starts, shown, output)` appends one, divided as `splitCheckpoint` divides it;
--   `starts` names the lease that recorded it, 0 the transport
-- - `announceChange(serviceType, id)` notifies those that watch the run
-- - `entriesSince(serviceType, id, from, starts)` returns name and value of those from a position on, in turns. The
--   lease `starts` knows its own values: it receives `false` in their place

-- Without the permission nobody can watch the run, and the run goes on.
local function announceChange(serviceType, id)
  redis.pcall('PUBLISH', key('run-changes', serviceType, id), '')
end

local function appendEntry(serviceType, id, name, starts, shown, output)
  local run = key('run', serviceType, id)
  -- The output comes first: Redis with no memory left rejects a script's first write only, and undoes none.
  if output ~= '' then call('HSET', run .. ':outputs', name, output) end
  local order = call('RPUSH', run .. ':order', name) - 1
  call('HSET', run .. ':checkpoints', name, order .. ' ' .. starts .. ' ' .. shown)
  announceChange(serviceType, id)
end

local function entriesSince(serviceType, id, from, starts)
  local run = key('run', serviceType, id)
  local entries = {}
  for _, name in ipairs(call('LRANGE', run .. ':order', from, -1)) do
    local recordedBy, shown = string.match(call('HGET', run .. ':checkpoints', name), '^%d+ (%d+) (.*)$')
    local value = false
    if recordedBy ~= starts then
      local output = call('HGET', run .. ':outputs', name)
      value = output and string.sub(shown, 1, -6) .. output or shown
    end
    entries[#entries + 1] = name
    entries[#entries + 1] = value
  end
  return entries
end
