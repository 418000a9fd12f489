--[[
Reads a string that changes with the replies of the other reading scripts.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     type; none means all types
Reply    the string
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/active-jobs.lua"
--- @include "./count-records.lua"

local active, leased = activeJobs()
local type = ARGV[1]
if not type then return (call('GET', key('revision')) or '0') .. '.' .. string.sub(redis.sha1hex(leased), 1, 12) .. '.' .. math.floor(now / constants.minuteMs) end
local changes, running = 0, 0
local ofType = serviceTypesOf(type)
local texts = readShares(ofType, unfoldedSums())
for index, serviceType in ipairs(ofType) do
  changes = changes + (string.match(texts[index] or '', '^%d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+) ') or 0)
  running = running + (active[serviceType] or 0)
end
return changes .. '.' .. running .. '.' .. math.floor(now / constants.minuteMs)
