--[[
Records that the service of a leased job admits its event.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease
Reply    a commit result; already if it was recorded before
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"

local queue, id, token, starts = take(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return 'fenced' end
return call('HSET', queue .. id, 'admitted', 1) == 1 and 'ok' or 'already'
