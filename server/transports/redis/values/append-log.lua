--[[
Appends entries to a log, then drops its oldest ones beyond the bounds, but never the newest one. Announces it on the
channel with the name of the key.

KEYS[1]  key of the log
ARGV     maximum number of entries, maximum number of bytes, maximum age in ms, text...
Reply    the sequence number of the first of the entries
Access   stores
]]
--- @include "./log-entry.lua"

local maxEntries, maxBytes = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local first, finish, expiresAt = 0, 0, now + ARGV[3]
local last = redis.call('LINDEX', KEYS[1], -1)
if last then
  local sequence, lastExpiry, _, lastFinish = logEntry(last)
  first, finish, expiresAt = sequence + 1, lastFinish, math.max(expiresAt, lastExpiry)
end
local newest = first + #ARGV - 4
for index = 4, #ARGV do
  local head = string.format('%.0f %.0f %.0f %.0f ', first + index - 4, now, expiresAt, finish)
  redis.call('RPUSH', KEYS[1], head .. ARGV[index])
  finish = finish + #ARGV[index]
end
while true do
  local sequence, expiry, start = logEntry(redis.call('LINDEX', KEYS[1], 0))
  local isDropped = sequence <= newest - maxEntries or start < finish - maxBytes or expiry <= now
  if sequence == newest or not isDropped then break end
  redis.call('LPOP', KEYS[1])
end
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', expiresAt))
-- A user without the channel can append.
redis.pcall('PUBLISH', KEYS[1], '')
return first
