--[[
Makes a registered process a member of its service, which is to be rebalanced.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, process id, place in the order of starts
Reply    number of membership changes
Access   works
]]
--- @include "../connection/prelude.lua"

local service, process, order = take(), take(), take()
-- After a loss of data the numbers begin anew, and processes that start from now on come after this one.
if tonumber(order) > tonumber(call('GET', key('sequence')) or 0) then call('SET', key('sequence'), order) end
call('ZADD', key('members', service), order, process)
return call('HINCRBY', key('settlement', service), 'changes', 1)
