--[[
Reads the descriptions of all live processes, and of the last ones of services without.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     number of hashes, hash that the caller knows...
Reply    the hash of each live process, a list of hashes and descriptions that the caller does not know, the hashes of the last processes of services without
Access   reads
]]
--- @include "./read-descriptions.lua"

return (readDescriptions())
