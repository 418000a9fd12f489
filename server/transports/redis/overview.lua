--[[
Reads the descriptions of all live processes and of the last ones of services without, the counts and activity of many types, the latest runs of some, and all schedules.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     arguments of readDescriptions, of readCounts, of readRuns, of readActivity
Reply    the results of the three, of readTotal, of readActivity and of readSchedules
Access   reads
]]
--- @include "./connection/prelude.lua"
--- @include "./statistics/count-records.lua"
--- @include "./statistics/read-activity.lua"
--- @include "./statistics/read-counts.lua"
--- @include "./membership/read-descriptions.lua"
--- @include "./runs/read-run.lua"
--- @include "./runs/run-retention.lua"
--- @include "./schedules/schedule-records.lua"

-- `readRuns()` takes a limit and types, and returns the latest runs per type: the limit holds per service type.

local function readRuns()
  local limit = takeNumber()
  local reply = {}
  local _, all = serviceTypesOfAll(take())
  for _, ofType in ipairs(all) do
    local runs = {}
    for _, serviceType in ipairs(ofType) do
      for _, id in ipairs(call('ZREVRANGE', key('runs', serviceType), 0, limit - 1)) do
        local run = not isExpired(serviceType, id) and readRun(serviceType, id, 'shown')
        if run then runs[#runs + 1] = run end
      end
    end
    reply[#reply + 1] = runs
  end
  return reply
end

--- @per-call
local registered = readDescriptions()
local sums = unfoldedSums()
local typeCounts, failing, types = readCounts(sums)
return { registered, typeCounts, readRuns(), readTotal(sums), readActivity(types, failing, sums), readSchedules() }
