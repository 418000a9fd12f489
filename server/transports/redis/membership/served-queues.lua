--[[
Lists the worker queues that a process has to serve: those of types that it handles, and those that still hold jobs. Forgets queues that are no longer in use.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, process id
Reply    for each: name; "none" if the gate limits its events, "own" if their type has only a rate, or "shared" slots
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/worker-queues.lua"

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
        forgetQueue(name)
      end
    end
  end
end
return served
