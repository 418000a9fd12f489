--[[
Notes that the handler of a leased job starts, alone in its process or beside others; or that others join it.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, job id, token, "alone" or "shared"
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"

local queue, id, token, place = take(), take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return end
-- Redis lets a script that has freed memory continue when memory is used up.
call('HDEL', queue .. id, 'started')
call('HSET', queue .. id, 'started', place)
