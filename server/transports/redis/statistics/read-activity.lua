--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

-- `readTotal(sums)` returns the last minutes and the history of all event types, `readPeriods(type, sums)` those of one.
-- `readActivity(types, failing, sums)` returns the last minutes of each type, and lists of the number of a type and the
-- last failures of its service types in `failing`. The last minutes are those that are not in the history yet, and
-- `trends`. `sums` are those of `unfoldedSums`.
--
-- Lua takes longer to join the texts of a thousand types than Redis and its client take for lists of them.

local function readLastMinutes(types, sums)
  return readMinutes(types, sums), readFields(key('trends'), types)
end

local function readPeriods(type, sums)
  local open, trends = readLastMinutes({ type }, sums)
  return { open[1], trends[1], call('HGETALL', key('history', type)) }
end

local function readTotal(sums)
  return { now, readPeriods(totalType, sums) }
end

local function readActivity(types, failing, sums)
  local open, trends = readLastMinutes(types, sums)
  local failures = {}
  for index, type in ipairs(next(failing) and types or {}) do
    if failing[type] then
      local ofType = { index }
      for _, serviceType in ipairs(failing[type]) do
        ofType[#ofType + 1] = call('LINDEX', key('failures', serviceType), 0) or nil
      end
      failures[#failures + 1] = ofType
    end
  end
  return { open, trends, failures }
end
