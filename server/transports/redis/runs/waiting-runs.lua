--[[
Reads the runs of several types that wait, those with the oldest approvals first.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     maximum number of runs per service type, types, separated by commas
Reply    a list of runs per type, as readRun returns them, without entries
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../statistics/count-records.lua"
--- @include "./read-run.lua"

local limit = takeNumber()
local reply = {}
local _, all = serviceTypesOfAll(take())
for _, ofType in ipairs(all) do
  local runs = {}
  for _, serviceType in ipairs(ofType) do
    local known, found = {}, 0
    local function add(id)
      if found == limit or known[id] then return end
      known[id], found = true, found + 1
      runs[#runs + 1] = readRun(serviceType, id, 'shown', 2 ^ 31) or nil
    end
    -- A run may ask for more than one decision.
    local approvals = key('approvals', serviceType)
    for first = 0, call('ZCARD', approvals) - 1, limit do
      if found == limit then break end
      for _, member in ipairs(call('ZRANGE', approvals, first, first + limit - 1)) do add(string.match(member, '^[^:]*')) end
    end
    if found < limit then
      local suspended = call('HSCAN', key('suspended', serviceType), 0, 'COUNT', 2 * limit)[2]
      for index = 1, #suspended, 2 do add(suspended[index]) end
    end
  end
  reply[#reply + 1] = runs
end
return reply
