--[[
Extends the locks of leased jobs.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lifetime in ms, lease...
Reply    the positions, from 1, of leases that were lost
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"

local lifetimeMs = take()
local lost, index = {}, 0
while position < #ARGV do
  local queue, id, token, starts = take(), take(), take(), take()
  -- The service type of the lease.
  take()
  index = index + 1
  if leaseOf(queue, id, token, starts) == 'ok' then
    call('PEXPIRE', queue .. id .. ':lock', lifetimeMs)
    call('SREM', queue .. 'stalled', id)
  else
    lost[#lost + 1] = index
  end
end
return lost
