--[[
Returns the place of a process in the order of starts.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     nothing
Reply    a number that grows with each call; nothing if the data has another layout
Access   works
]]
--- @include "../connection/data-layout.lua"
--- @include "../connection/prelude.lua"

if hasOtherLayout() then return nil end
return call('INCR', key('sequence'))
