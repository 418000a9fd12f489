--[[
Removes the registration of a process. Its settings are forgotten by the next rebalance.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     process id, service
Reply    number of membership changes; nothing if the process was no member
Access   works
]]
--- @include "../connection/prelude.lua"

local process, service = take(), take()
call('DEL', key('process', process), key('state', process))
call('ZREM', key('registrations'), process)
call('INCR', key('revision'))
if call('ZREM', key('members', service), process) == 0 then return nil end
return call('HINCRBY', key('settlement', service), 'changes', 1)
