--- @include "../connection/prelude.lua"

-- Counters as Redis stores them. Service types share a hash, and types share one per minute, so that introspection reads a
-- thousand types in a few commands:
--
-- - a field of `counts` is a text of numbers: received, completed, failed, cancelled, retried, deduplicated, time of the
--   last received and of the last failed event or 0, number of changes, 1 if a run has asked for an approval, filtered
-- - a field of `counted:<minute>` has the counts of a type in a minute that is not in the histories yet, after their names:
--   `r=2 w31=2 e-21=1 q=14`. Names are `r` received, `c` completed, `f` failed, `x` cancelled, `t` retried, `w<bucket>`
--   and `d<bucket>` waiting times and durations, `p` and `q` the longest of each in microseconds. `e<bucket>` is both `c`
--   and `d<bucket>`. The field of `totalType` counts the events of all types. `counted-minutes` has these
--   minutes
--
-- The list `changes` has an element per call of a script that counted something, until a later call adds the elements to
-- the records. An element has a line per service type: service type, time, deduplicated, then counts as in `counted`,
-- `a` if a run asked for an approval, and `i` filtered.
--
-- - `unfoldedSums(lines)` returns the sums of the list, and of other lines if there are some, by service type, and by
--   minute and type
-- - `mergeShare(text, share)` returns a record of `counts` with a sum, `mergeCounts(text, sum)` one of `counted`
-- - `mergeFields(name, fields, sums, merge)` returns the texts of fields of a hash, in the same order, each merged with
--   its sum if there is one; `readShares(serviceTypes, sums)` the records of `counts` with the sums
-- - `readMinutes(types, sums, first)` returns a list of each minute from `first` on that is not in the histories, with the
--   records of the types

-- No encoded name contains a slash.
local totalType = '/'

local addCount
do
  local isLongest = { p = true, q = true }
  function addCount(counts, name, count)
    local known = counts[name]
    if not known then counts[name] = count
    elseif isLongest[name] then counts[name] = math.max(known, count)
    else counts[name] = known + count end
  end
end

local unfoldedSums
do
  local counterOf = { r = 'received', c = 'completed', e = 'completed', f = 'failed', x = 'cancelled', t = 'retried' }

  local function newShare()
    return { received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0, deduplicated = 0, lastReceivedAt = 0,
      lastFailedAt = 0, changes = 0, hasApprovals = 0, filtered = 0 }
  end

  local function tableIn(parent, name)
    local child = parent[name]
    if not child then
      child = {}
      parent[name] = child
    end
    return child
  end

  -- Most lines of a minute differ in their time alone. Their counts are decoded once.
  local function tally(tallies, line)
    local serviceType, at, counts = string.match(line, '^(%S+) (%d+) (%d+.*)$')
    if not serviceType then return end
    at = tonumber(at)
    local ofMinute = tableIn(tableIn(tallies, serviceType), math.floor(at / constants.minuteMs))
    local equal = ofMinute[counts]
    if not equal then
      ofMinute[counts] = { times = 1, lastAt = at }
    else
      equal.times = equal.times + 1
      equal.lastAt = math.max(equal.lastAt, at)
    end
  end

  local function addTally(sums, serviceType, minute, counts, equal)
    local share, times = sums.shares[serviceType] or newShare(), equal.times
    sums.shares[serviceType] = share
    share.changes = share.changes + times
    share.deduplicated = share.deduplicated + string.match(counts, '^%d+') * times
    local received, failed, cancelled, sum = share.received, share.failed, share.cancelled, nil
    for name, count in string.gmatch(counts, ' (%a%-?%d*)=(%d+)') do
      if name == 'a' then
        share.hasApprovals = 1
      elseif name == 'i' then
        share.filtered = share.filtered + count * times
      else
        local counter = counterOf[string.sub(name, 1, 1)]
        sum = sum or tableIn(tableIn(sums.minutes, minute), typeOf(serviceType))
        if counter then share[counter] = share[counter] + count * times end
        if name == 'p' or name == 'q' then addCount(sum, name, tonumber(count)) else addCount(sum, name, count * times) end
      end
    end
    if share.received > received then share.lastReceivedAt = math.max(share.lastReceivedAt, equal.lastAt) end
    if share.failed - failed > share.cancelled - cancelled then
      share.lastFailedAt = math.max(share.lastFailedAt, equal.lastAt)
    end
  end

  local function addTotals(minutes)
    for _, ofTypes in pairs(minutes) do
      local total = {}
      for type, counts in pairs(ofTypes) do
        if string.sub(type, 1, #constants.workflowPrefix) ~= constants.workflowPrefix then
          for name, count in pairs(counts) do addCount(total, name, count) end
        end
      end
      if next(total) then ofTypes[totalType] = total end
    end
  end

  function unfoldedSums(others)
    local sums, tallies = { shares = {}, minutes = {} }, {}
    for _, element in ipairs(call('LRANGE', key('changes'), '0', '-1')) do
      if string.find(element, '\n', 1, true) then
        for line in string.gmatch(element, '[^\n]+') do tally(tallies, line) end
      else
        tally(tallies, element)
      end
    end
    for _, line in ipairs(others or {}) do tally(tallies, line) end
    for serviceType, minutes in pairs(tallies) do
      -- Something else may have written the line.
      for minute, ofMinute in pairs(typeOf(serviceType) and minutes or {}) do
        for counts, equal in pairs(ofMinute) do addTally(sums, serviceType, minute, counts, equal) end
      end
    end
    addTotals(sums.minutes)
    return sums
  end
end

-- Fields behind those that this version knows are of a newer one, which runs beside it. They stay as they are.
local function mergeShare(text, share)
  local received, completed, failed, cancelled, retried, deduplicated, lastReceivedAt, lastFailedAt, changes, hasApprovals, filtered, others =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d) ?(%d*)([ %d]*)$')
  return string.format('%d %d %d %d %d %d %d %d %d %d %d%s', share.received + (received or 0), share.completed + (completed or 0),
    share.failed + (failed or 0), share.cancelled + (cancelled or 0), share.retried + (retried or 0),
    share.deduplicated + (deduplicated or 0), math.max(share.lastReceivedAt, lastReceivedAt or 0),
    math.max(share.lastFailedAt, lastFailedAt or 0), share.changes + (changes or 0),
    math.max(share.hasApprovals, hasApprovals or 0), share.filtered + (tonumber(filtered) or 0), others or '')
end

local function mergeCounts(text, sum)
  local counts, parts = {}, {}
  for name, count in string.gmatch(text, '(%a%-?%d*)=(%d+)') do counts[name] = count end
  for name, count in pairs(sum) do addCount(counts, name, count) end
  for name, count in pairs(counts) do parts[#parts + 1] = name .. '=' .. count end
  return table.concat(parts, ' ')
end

local function readFields(name, fields)
  local values = {}
  for first = 1, #fields, constants.fieldBatch do
    local last = math.min(first + constants.fieldBatch - 1, #fields)
    local found = call('HMGET', name, unpack(fields, first, last))
    if first == 1 and last == #fields then return found end
    for index = 1, last - first + 1 do values[first + index - 1] = found[index] end
  end
  return values
end

local function mergeFields(name, fields, sums, merge)
  local texts = readFields(name, fields)
  if next(sums) == nil then return texts end
  for index, field in ipairs(fields) do
    local sum = sums[field]
    if sum then texts[index] = merge(texts[index] or '', sum, field) end
  end
  return texts
end

local function readShares(serviceTypes, sums)
  return mergeFields(key('counts'), serviceTypes, sums.shares, mergeShare)
end

local function readMinutes(types, sums, first)
  local isFound, minutes, reply = {}, {}, {}
  local function add(minute)
    if minute and not isFound[minute] then
      isFound[minute] = true
      minutes[#minutes + 1] = minute
    end
  end
  for _, minute in ipairs(call('ZRANGEBYSCORE', key('counted-minutes'), first, '+inf')) do add(tonumber(minute)) end
  for minute in pairs(sums.minutes) do add(minute) end
  table.sort(minutes)
  for index, minute in ipairs(minutes) do
    reply[index] = { minute, mergeFields(key('counted', minute), types, sums.minutes[minute] or {}, mergeCounts) }
  end
  return reply
end

-- Service types of each type, in one hash for all types: introspection reads it in one call, however many there are.
--
-- - `serviceTypesOf(type)` returns the service types of a type
-- - `serviceTypesOfAll(types)` returns the types of a text that separates them by commas, and a list of the service
--   types per type in the same order
-- - `addServiceTypes(serviceTypes)`

local function splitList(text)
  if text and text ~= '' and not string.find(text, ',', 1, true) then return { text } end
  local parts = {}
  for part in string.gmatch(text or '', '[^,]+') do parts[#parts + 1] = part end
  return parts
end

local function serviceTypesOf(type)
  return splitList(call('HGET', key('service-types'), type) or '')
end

local function serviceTypesOfAll(text)
  local types, all = splitList(text), {}
  for first = 1, #types, constants.fieldBatch do
    local last = math.min(first + constants.fieldBatch - 1, #types)
    local found = call('HMGET', key('service-types'), unpack(types, first, last))
    for index = 1, last - first + 1 do all[first + index - 1] = splitList(found[index] or '') end
  end
  return types, all
end

local function addServiceTypes(added)
  for _, serviceType in ipairs(added) do
    local type = typeOf(serviceType)
    local known = call('HGET', key('service-types'), type)
    if known ~= serviceType then
      local isKnown = false
      for _, each in ipairs(splitList(known or '')) do isKnown = isKnown or each == serviceType end
      if not isKnown then
        call('HSET', key('service-types'), type, known and known .. ',' .. serviceType or serviceType)
      end
    end
  end
end
