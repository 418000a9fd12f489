--[[
Reads runs that have ended, and notes that a process waits for the others, in place of dead processes. A run that a process waits for stays readable until the process has read it.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     process id, number of runs, (service type, job id)...
Reply    for each run "unknown", "pending", the run with its result, or "later" after constants.maxBatchLength characters
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../membership/live-handlers.lua"
--- @include "./read-run.lua"
--- @include "./run-retention.lua"
--- @include "./suspended-runs.lua"

local function removeDeadWaiters(serviceType, id)
  local waiters = key('run', serviceType, id, 'waiters')
  for _, waiter in ipairs(call('SMEMBERS', waiters)) do
    if not isLive(waiter) then call('SREM', waiters, waiter) end
  end
end

local process = take()
local replies, length = {}, 0
-- Redis lets a script that has freed memory continue when memory is used up.
call('DEL', key('executed', ''))
for index = 1, takeNumber() do
  local serviceType, id = take(), take()
  local status, value = unpack(call('HMGET', key('run', serviceType, id), 'status', 'value'))
  if not hasRun(serviceType, id) then
    replies[index] = 'unknown'
  elseif not status or length > constants.maxBatchLength then
    removeDeadWaiters(serviceType, id)
    addWaiter(serviceType, id, process)
    replies[index] = status and 'later' or 'pending'
  else
    replies[index] = readRun(serviceType, id, 'result')
    length = length + #value
    removeWaiter(serviceType, id, process)
  end
end
return replies
