--[[
Adds to a whole number.

KEYS[1]  key of the entry
ARGV     time to live in ms or empty, number to add
Reply    the sum
Access   stores
]]
--- @include "./set-expiry.lua"

local sum = redis.call('INCRBY', KEYS[1], ARGV[2])
setExpiry(KEYS[1], ARGV[1])
return sum
