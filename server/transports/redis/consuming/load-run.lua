--[[
Reads all entries of a run for a delivery. An event that was accepted before its type kept runs becomes a run.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease
Reply    checkpoints, outputs, milliseconds until the next wait resolves by time or nothing, offers as offersOf returns them; nothing at all if the lease is lost
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-data.lua"
--- @include "../jobs/leases.lua"
--- @include "../runs/run-records.lua"
--- @include "../runs/run-waits.lua"
--- @include "./own-timers.lua"

-- `ensureRun(queue, id, serviceType)` stores the run of a job that was accepted before its type kept runs.

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
local offers = offersOf(serviceType, id)
return { call('HGETALL', run .. ':checkpoints'), call('HGETALL', run .. ':outputs'), dueInMs, offers }
