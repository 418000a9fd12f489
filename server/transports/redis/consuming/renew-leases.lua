--[[
Extends the locks of leased jobs.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lifetime in ms, lease...
Reply    the leases that were lost: the position, from 1, and the reason as JSON if another process has ended the event
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/key-queues.lua"

local lifetimeMs = take()
local lost, index = {}, 0
while position < #ARGV do
  local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
  index = index + 1
  if leaseOf(queue, id, token, starts) == 'ok' then
    call('PEXPIRE', queue .. id .. ':lock', lifetimeMs)
    call('SREM', queue .. 'stalled', id)
  else
    -- Its message may have been lost.
    lost[#lost + 1] = { index, interruption(serviceType, token, id, starts) }
  end
end
return lost
