--[[
Sets a value if the key holds the expected one.

KEYS[1]  key of the entry
ARGV     time to live in ms or empty, 1 if the key is expected not to exist, expected value, value
Reply    1, or 0 if the key holds another value
Access   stores
]]
--- @include "./set-expiry.lua"

local value = redis.call('GET', KEYS[1])
if ARGV[2] == '1' then
  if value then return 0 end
elseif value ~= ARGV[3] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[4])
setExpiry(KEYS[1], ARGV[1])
return 1
