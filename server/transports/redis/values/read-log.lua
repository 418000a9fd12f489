--[[
Reads entries of a log from a sequence number on.

KEYS[1]  key of the log
ARGV     sequence number, maximum number of entries
Reply    the sequence numbers of the oldest retained entry and of the next one that is appended, and the entries as stored;
         nothing if the log does not exist
Access   reads
]]
--- @include "./log-entry.lua"

local newest = redis.call('LINDEX', KEYS[1], -1)
if not newest then return false end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- No entry expires before an earlier one. An append drops those that have expired.
local low, high = 0, redis.call('LLEN', KEYS[1]) - 1
while low < high do
  local middle = math.floor((low + high) / 2)
  local _, expiry = logEntry(redis.call('LINDEX', KEYS[1], middle))
  if expiry <= now then low = middle + 1 else high = middle end
end
local first = logEntry(redis.call('LINDEX', KEYS[1], low))
local start = low + math.max(0, ARGV[1] - first)
local entries = redis.call('LRANGE', KEYS[1], string.format('%.0f', start), string.format('%.0f', start + ARGV[2] - 1))
return { first, logEntry(newest) + 1, entries }
