--[[
Reads the descriptions and the states of all live processes.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     number of hashes, hash that the caller knows...
Reply    the reply of descriptions.lua, and the state of each live process
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./read-descriptions.lua"

local found, processes = readDescriptions()
local states = {}
for index, process in ipairs(processes) do states[index] = call('GET', key('state', process)) or '' end
return { found, states }
