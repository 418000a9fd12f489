--[[
Reads all entries of a run for a delivery. An event that was accepted before its type kept runs becomes a run.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease
Reply    checkpoints, outputs, milliseconds until the next wait resolves by time or nothing; nothing at all if the lease is lost
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"
--- @include "../runs/run-records.lua"
--- @include "./own-timers.lua"

-- `ensureRun(queue, id, serviceType)` stores the run of a job that was accepted before its type kept runs.

-- The body is a text in JSON, which Lua does not decode if it has half of a surrogate pair.
local function withoutBody(data)
  local _, bodyStart = string.find(data, ',"body":"', 1, true)
  local from = bodyStart and bodyStart + 1
  while from do
    local stop = string.find(data, '["\\]', from)
    if not stop then break end
    if string.sub(data, stop, stop) == '"' then return string.sub(data, 1, bodyStart) .. 'null' .. string.sub(data, stop) end
    from = stop + 2
  end
  return data
end

local function ensureRun(queue, id, serviceType)
  if call('EXISTS', key('run', serviceType, id)) == 1 then return end
  local data, acceptedAt, attempts, order = unpack(call('HMGET', queue .. id, 'data', 'timestamp', 'atm', 'order'))
  -- The event has ended, or another worker has it.
  if not data or not order then return end
  addRun(serviceType, id, queue, order % constants.orderSpan, {
    data = data, shown = withoutBody(data), acceptedAt = acceptedAt or now, attempt = (attempts or 0) + 1,
  })
end

--- @per-call
local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
-- The message of the process that ended the run may have arrived before the job.
if leaseOf(queue, id, token, starts) ~= 'ok' then return nil end
ensureRun(queue, id, serviceType)
local dueInMs = resolveOwnTimers(serviceType, id)
local run = key('run', serviceType, id)
return { call('HGETALL', run .. ':checkpoints'), call('HGETALL', run .. ':outputs'), dueInMs }
