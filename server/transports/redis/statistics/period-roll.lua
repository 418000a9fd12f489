--- @include "../connection/prelude.lua"

-- `rollMinutes(type, minutes)` moves the minutes of a type that are over out of `minutes`, as `decodeMinutes` returns them,
-- to texts with a line per period, oldest first. The text `trend` has the last minutes: all types share the hash `trends`,
-- so that introspection reads it for a thousand types in one command. Before its first line stands the last minute that
-- was moved. The other texts are in the hash of the type's history.
--
-- - `trend`, `fives`, `hour` the last minutes, periods of 5 minutes and the current hour, with the names of `counters`
--   but `e`; minutes of `trend` that are not part of the last 5 minutes are as in `m`
-- - `m`, `f`, `h` the minutes, periods of 5 minutes and hours before those, with percentiles in place of waiting times
--   and durations
-- - `durations` waiting times and durations of all minutes that are over, `<name>=<count> ...`
--
-- A line is in base 36 with capital letters: 3 digits of its period, 2 each of the percentiles of waiting times and of
-- durations, `00` for none, and counts after their names: `1CL5K61r99Cc8SOfGO`. Counts of neighbouring buckets follow the
-- lowest one, which is decimal: `w10=8C=8C==5`.
--
-- A busy type keeps at most 20 kB.

local minute

-- In a block of its own: a script has at most 200 local names.
local rollMinutes
do
  local digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
  local percentiles = { p = 'w', q = 'd' }

  local function to36(number)
    local text = ''
    repeat
      local digit = number % 36
      text = string.sub(digits, digit + 1, digit + 1) .. text
      number = (number - digit) / 36
    -- Data that something else has written may be infinite.
    until not (number >= 1)
    return text
  end

  local function fixed36(number, length)
    return string.sub('00' .. to36(number), -length)
  end

  local function encodePeriod(period, counts)
    local line = fixed36(period % constants.periodCycle, 3) .. fixed36(counts.p or 0, 2) .. fixed36(counts.q or 0, 2)
    local runs = {}
    for name, count in pairs(counts) do
      local kind, bucket = string.sub(name, 1, 1), tonumber(string.sub(name, 2))
      if percentiles[name] then
        -- Stands at the start of the line.
      elseif not bucket then
        line = line .. name .. to36(count)
      else
        local run = runs[kind] or { first = bucket, last = bucket, counts = {} }
        runs[kind] = run
        run.first, run.last = math.min(run.first, bucket), math.max(run.last, bucket)
        run.counts[bucket] = count
      end
    end
    for kind, run in pairs(runs) do
      line = line .. kind .. run.first
      for bucket = run.first, run.last do
        line = line .. '=' .. (run.counts[bucket] and to36(run.counts[bucket]) or '')
      end
    end
    return line
  end

  -- Data that something else has written counts as 0, and stops no event.
  local function number36(digits) return tonumber(digits, 36) or 0 end

  -- Returns the period of the first line of a text, at most last.
  local function periodOf(text, last)
    return last - (last - number36(string.sub(text, 1, 3))) % constants.periodCycle
  end

  local function addCount(counts, name, count) counts[name] = (counts[name] or 0) + count end

  local function mergeCounts(counts, others)
    for name, count in pairs(others) do addCount(counts, name, count) end
    return counts
  end

  local function decodeLine(line)
    local counts = { p = number36(string.sub(line, 4, 5)), q = number36(string.sub(line, 6, 7)) }
    for kind, value in string.gmatch(string.sub(line, 8), '(%l)([^%l]*)') do
      local bucket = tonumber(string.match(value, '^(.-)='))
      if not bucket then
        addCount(counts, kind, number36(value))
      else
        for count in string.gmatch(value, '=([^=]*)') do
          if count ~= '' then addCount(counts, kind .. bucket, number36(count)) end
          bucket = bucket + 1
        end
      end
    end
    return counts
  end

  local function percentile95(counts, kind)
    local buckets, total = {}, 0
    for name, count in pairs(counts) do
      local bucket = string.match(name, '^' .. kind .. '(%-?%d+)$')
      if bucket then
        buckets[#buckets + 1] = { tonumber(bucket), count }
        total = total + count
      end
    end
    table.sort(buckets, function(a, b) return a[1] < b[1] end)
    local rank = 0.95 * (total - 1)
    for _, each in ipairs(buckets) do
      rank = rank - each[2]
      if rank < 0 then return each[1] end
    end
  end

  -- Returns a line with percentiles in place of waiting times and durations.
  local function compact(line, last)
    if not string.find(line, '=', 1, true) then return line end
    local counts, short = decodeLine(line), {}
    for name, kind in pairs(percentiles) do
      local bucket = percentile95(counts, kind)
      if bucket then short[name] = math.max(1, bucket + constants.bucketOffset) end
    end
    for name, count in pairs(counts) do
      if #name == 1 and not percentiles[name] then short[name] = count end
    end
    return encodePeriod(periodOf(line, last), short)
  end

  -- Adds a line. Those of periods before oldest leave the text, and move to another one if it is given.
  local function appendLine(history, name, line, period, oldest, moveTo, oldestThere)
    local text = history[name] .. line .. '\n'
    while text ~= '' and periodOf(text, period) < oldest do
      local first, rest = string.match(text, '^([^\n]*)\n(.*)$')
      if moveTo then appendLine(history, moveTo, compact(first, period), period, oldestThere) end
      text = rest
    end
    history[name] = text
  end

  -- Minutes before oldest keep no durations: recent activity reads only their counts.
  local function compactBefore(text, last, oldest)
    return (string.gsub(text, '[^\n]+', function(line)
      if periodOf(line, last) < oldest then return compact(line, last) end
    end))
  end

  -- Adds a minute to a text of longer periods.
  local function addMinute(history, open, closed, period, counts, kept, keptClosed)
    local line = string.match(history[open], '([^\n]*)\n$')
    if line and periodOf(line, period) == period then
      history[open] = string.sub(history[open], 1, -#line - 2)
      counts = mergeCounts(decodeLine(line), counts)
    end
    appendLine(history, open, encodePeriod(period, counts), period, period - kept, closed, period - keptClosed)
  end

  -- Counts the durations of completed attempts as durations.
  local function withoutOutcomes(counts)
    local merged = {}
    for name, count in pairs(counts) do
      local bucket = string.match(name, '^e(.+)$')
      addCount(merged, bucket and 'd' .. bucket or name, count)
      if bucket then addCount(merged, 'c', count) end
    end
    return merged
  end

  local function addDurations(text, counts)
    local sum = {}
    for name, count in string.gmatch(text, '(%a[%-%d]*)=(%d+)') do sum[name] = tonumber(count) end
    for name, count in pairs(counts) do
      if string.find(name, '^[wd]%-?%d') then sum[name] = (sum[name] or 0) + count end
    end
    local parts = {}
    for name, count in pairs(sum) do parts[#parts + 1] = string.format('%s=%.0f', name, count) end
    return table.concat(parts, ' ')
  end

  local function readTrend(type)
    local at, text = string.match(call('HGET', key('trends'), type) or '', '^(%d+)\n(.*)$')
    return at and minute - at <= constants.weekMinutes and text or ''
  end

  local historyNames = { 'm', 'fives', 'f', 'hour', 'h', 'durations' }
  function rollMinutes(type, minutes)
    local order = {}
    for at in pairs(minutes) do
      if at < minute then order[#order + 1] = at end
    end
    if #order == 0 then return end
    table.sort(order)
    local history, texts = { trend = readTrend(type) }, call('HMGET', key('history', type), unpack(historyNames))
    for index, name in ipairs(historyNames) do history[name] = texts[index] or '' end
    for _, at in ipairs(order) do
      local counts = withoutOutcomes(minutes[at])
      minutes[at] = nil
      appendLine(history, 'trend', encodePeriod(at, counts), at, at - constants.trendMinutes + 2, 'm', at - constants.minutesLength + 2)
      history.trend = compactBefore(history.trend, at, at - constants.recentMinutes + 2)
      history.durations = addDurations(history.durations, counts)
      addMinute(history, 'fives', 'f', math.floor(at / constants.fivePerMinute), counts, constants.recentFives - 1, constants.fiveMinutesLength)
      addMinute(history, 'hour', 'h', math.floor(at / constants.hourPerMinute), counts, 0, constants.hoursLength)
    end
    local written = {}
    for _, name in ipairs(historyNames) do
      written[#written + 1] = name
      written[#written + 1] = history[name]
    end
    call('HSET', key('history', type), unpack(written))
    call('HSET', key('trends'), type, string.format('%d\n', order[#order]) .. history.trend)
    call('PEXPIRE', key('history', type), constants.historyMs)
  end
end

--- @per-call
minute = math.floor(now / constants.minuteMs)
