import { periodKinds, recentFives, recentMinutes, trendMinutes } from '../../statistics/periods.js';
import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

const { minutes, fiveMinutes, hours } = periodKinds;
const [fivePerMinute, hourPerMinute] = [fiveMinutes.stepMs / minutes.stepMs, hours.stepMs / minutes.stepMs];

/**
 * `rollMinutes(type)` moves the minutes of a type that are over from its hash of counters to texts with a line per
 * period, oldest first: `<period> <name>=<count>...`. The text `trend` has the last minutes and stands in the hash of
 * counters, so that introspection reads one key per type. The others are in the hash of the type's history.
 *
 * - `trend`, `fives`, `hour` the last minutes, periods of 5 minutes and the current hour, with the names of `counters`;
 *   minutes of `trend` that are not part of the last 5 minutes are as in `m`
 * - `m`, `f`, `h` all minutes, periods of 5 minutes and hours that are over, with percentiles as buckets in place of
 *   waiting times and durations: `W` and `D`
 *
 * - `durations` waiting times and durations of all minutes that are over, as in an open minute
 *
 * A type keeps about 16 kB.
 */
export const periodRoll: LuaFragment = new LuaFragment(
  `
-- No encoded name contains a slash.
local totalType = '/'
local minute

local function encodePeriod(period, counts)
  local parts = { string.format('%.0f', period) }
  for name, count in pairs(counts) do parts[#parts + 1] = name .. '=' .. count end
  return table.concat(parts, ' ')
end

local function mergeLine(counts, line)
  for name, count in string.gmatch(line, '(%a[%-%d]*)=(%d+)') do counts[name] = (counts[name] or 0) + count end
  return counts
end

local function percentile95(counts, kinds)
  local buckets, total = {}, 0
  for name, count in pairs(counts) do
    local kind, bucket = string.match(name, '^(%a)(%-?%d+)$')
    if kind and string.find(kinds, kind, 1, true) then
      bucket = tonumber(bucket)
      buckets[#buckets + 1] = { bucket, count }
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

local function compact(period, counts)
  local short = { W = percentile95(counts, 'w'), D = percentile95(counts, 'de') }
  for name, count in pairs(counts) do
    local kind = string.sub(name, 1, 1)
    if name == kind then
      short[kind] = (short[kind] or 0) + count
    elseif kind == 'e' then
      short.c = (short.c or 0) + count
    end
  end
  return encodePeriod(period, short)
end

local function appendLine(text, line, oldest)
  text = text .. line .. '\\n'
  while text ~= '' and tonumber(string.match(text, '^%d+')) < oldest do text = string.match(text, '\\n(.*)$') end
  return text
end

-- Minutes before oldest keep no durations: recent activity reads only their counts.
local function compactBefore(text, oldest)
  return (string.gsub(text, '[^\\n]+', function(line)
    local at = tonumber(string.match(line, '^%d+'))
    if at < oldest and string.find(line, ' %a%-?%d') then return compact(at, mergeLine({}, line)) end
  end))
end

local function lastLine(text)
  local line = string.match(text, '([^\\n]*)\\n$')
  return line, line and tonumber(string.match(line, '^%d+'))
end

-- Adds a minute to a text of longer periods. A period that is over moves on to the text of the compact ones.
local function addMinute(history, open, closed, period, counts, kept, keptClosed)
  local line, last = lastLine(history[open])
  if last == period then
    local text = string.sub(history[open], 1, -#line - 2)
    history[open] = text .. encodePeriod(period, mergeLine(mergeLine({}, line), encodePeriod(period, counts))) .. '\\n'
    return
  end
  if last then
    history[closed] = appendLine(history[closed], compact(last, mergeLine({}, line)), period - keptClosed)
  end
  history[open] = appendLine(history[open], encodePeriod(period, counts), period - kept)
end

local function addDurations(text, counts)
  local sum = mergeLine({}, text)
  for name, count in pairs(counts) do
    if string.find(name, '^[wde]%-?%d') then sum[name] = (sum[name] or 0) + count end
  end
  local parts = {}
  for name, count in pairs(sum) do parts[#parts + 1] = string.format('%s=%.0f', name, count) end
  return table.concat(parts, ' ')
end

local historyNames = { 'm', 'fives', 'f', 'hour', 'h', 'durations' }
local function rollMinutes(type)
  local open = key('minute', type)
  local over, fields, order, trend = {}, {}, {}, ''
  local all = call('HGETALL', open)
  for index = 1, #all, 2 do
    local at, name = string.match(all[index], '^(%d+)(.*)$')
    -- A name ends with digits, but never starts with one.
    at = tonumber(at)
    if not at then
      trend = all[index + 1]
    elseif at < minute then
      if not over[at] then
        over[at] = {}
        order[#order + 1] = at
      end
      over[at][name] = tonumber(all[index + 1])
      fields[#fields + 1] = all[index]
    end
  end
  if #order == 0 then return end
  table.sort(order)
  local history, texts = {}, call('HMGET', key('history', type), unpack(historyNames))
  for index, name in ipairs(historyNames) do history[name] = texts[index] or '' end
  for _, at in ipairs(order) do
    local counts = over[at]
    trend = appendLine(trend, encodePeriod(at, counts), at - ${trendMinutes} + 2)
    trend = compactBefore(trend, at - ${recentMinutes} + 2)
    history.m = appendLine(history.m, compact(at, counts), at - ${minutes.length} + 2)
    history.durations = addDurations(history.durations, counts)
    addMinute(history, 'fives', 'f', math.floor(at / ${fivePerMinute}), counts, ${recentFives - 1}, ${fiveMinutes.length})
    addMinute(history, 'hour', 'h', math.floor(at / ${hourPerMinute}), counts, 0, ${hours.length})
  end
  local written = {}
  for _, name in ipairs(historyNames) do
    written[#written + 1] = name
    written[#written + 1] = history[name]
  end
  call('HSET', key('history', type), unpack(written))
  call('HDEL', open, unpack(fields))
  call('HSET', open, 'trend', trend)
  call('PEXPIRE', key('history', type), ${hours.length * hours.stepMs + hours.stepMs})
  call('PEXPIRE', open, ${hours.length * hours.stepMs + hours.stepMs})
end
`,
  [prelude],
  `minute = math.floor(now / ${minutes.stepMs})`,
);
