--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

-- Histories, as `PeriodHistory.pack` writes them: all types share the hash `last-hours`, so that introspection reads it for
-- a thousand types in one command; the other parts are fields of the hash `history:<type>`, beside its `version`.
--
-- `readTotal(sums)` returns the time, and the minutes and the history of all event types, `readPeriods(type, sums)` those
-- of one. `readActivity(types, failing, sums)` takes what `rolled` was at the last read of these types. It returns the
-- minutes, what `rolled` is now, the last hours unless it is the same, and lists of the number of a type and the last
-- failures of its service types in `failing`. `sums` are those of `unfoldedSums`.
--
-- Lua takes longer to join the texts of a thousand types than Redis and its client take for lists of them.

local function readPeriods(type, sums)
  return { readMinutes({ type }, sums, '-inf'), call('HGET', key('last-hours'), type), call('HGETALL', key('history', type)) }
end

local function readTotal(sums)
  return { now, readPeriods(totalType, sums) }
end

local function readActivity(types, failing, sums)
  local known, rolled = take(), call('GET', key('rolled')) or ''
  local minutes = readMinutes(types, sums, math.floor(now / constants.minuteMs) - constants.trendMinutes + 1)
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
  return { minutes, rolled, known ~= rolled and readFields(key('last-hours'), types), failures }
end
