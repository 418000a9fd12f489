--[[
Pushes values to the end of a list and trims it. Changes nothing if the list would become too long.

KEYS[1]  key of the entry
ARGV     time to live in ms or empty, maximum length, number of entries to keep or empty, value...
Reply    the length, or nothing if the list would become too long
Access   stores
]]
--- @include "./set-expiry.lua"

local maxLength, keepLast = tonumber(ARGV[2]), tonumber(ARGV[3]) or math.huge
local length = math.min(redis.call('LLEN', KEYS[1]) + #ARGV - 3, keepLast)
if length > maxLength then return false end
if length == 0 then return 0 end
for index = 4, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[index]) end
redis.call('LTRIM', KEYS[1], -length, -1)
setExpiry(KEYS[1], ARGV[1])
return length
