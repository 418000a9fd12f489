--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "./count-records.lua"

-- Counters: `countOne(serviceType, name)` gathers them while a script runs, `writeChanges()` writes them once at its end: to
-- the list of changes, or with those of the list to the records. Names are those of a line of `changes`, and
-- `deduplicated`. `countWait(serviceType, ms)` counts a waiting time; after a duration was counted by its bucket,
-- `noteDuration(serviceType, ms)` notes how long it was. `changesOf(serviceType)` alone changes the revision of a type
-- whose counters stay as they are. `foldChanges()` adds the list of changes to the records.
--
-- An outcome that is recorded alone takes one write so, in place of five.

local changes
local function changesOf(serviceType)
  local counts = changes[serviceType]
  if not counts then
    counts = {}
    changes[serviceType] = counts
  end
  return counts
end

local function countOne(serviceType, name)
  local counts = changesOf(serviceType)
  counts[name] = (counts[name] or 0) + 1
end

local function noteLongest(serviceType, name, ms)
  local counts = changesOf(serviceType)
  -- Lua writes a longer number with an exponent.
  counts[name] = math.max(counts[name] or 0, math.min(math.floor(ms * 1000 + 0.5), constants.longestUs))
end

local function countWait(serviceType, ms)
  -- Zero may have a sign, which would be a bucket of its own.
  countOne(serviceType, 'w' .. math.ceil(math.log(math.max(ms, constants.shortestMs)) / constants.logDurationGrowth) + 0)
  noteLongest(serviceType, 'p', math.max(ms, 0))
end

local function noteDuration(serviceType, ms)
  noteLongest(serviceType, 'q', ms)
end

-- In a block of its own: a script has at most 200 local names.
local writeChanges, foldChanges
do
  local function lineOf(serviceType, counts)
    local line = serviceType .. ' ' .. nowText .. ' ' .. (counts.deduplicated or '0')
    for name, number in pairs(counts) do
      if name ~= 'deduplicated' then line = line .. ' ' .. name .. '=' .. number end
    end
    return line
  end

  local function updateRecords(name, sums, merge)
    local fields = {}
    for field in pairs(sums) do fields[#fields + 1] = field end
    local texts = mergeFields(name, fields, sums, merge)
    for first = 1, #fields, constants.fieldBatch do
      local written = {}
      for index = first, math.min(first + constants.fieldBatch - 1, #fields) do
        written[#written + 1] = fields[index]
        written[#written + 1] = texts[index]
      end
      call('HSET', name, unpack(written))
    end
  end

  local function fold(lines)
    local sums = unfoldedSums(lines)
    updateRecords(key('counts'), sums.shares, mergeShare)
    for minute, ofTypes in pairs(sums.minutes) do
      updateRecords(key('counted', minute), ofTypes, mergeCounts)
      call('PEXPIRE', key('counted', minute), constants.historyMs)
      call('ZADD', key('counted-minutes'), minute, minute)
    end
    call('DEL', key('changes'))
  end

  function foldChanges() fold({}) end

  -- The first change of a service type is that it receives an event, or none of these.
  local function mayBeNew(line)
    return not string.find(line, ' [ceft]') or string.find(line, ' r=', 1, true)
  end

  function writeChanges()
    if next(changes) == nil then return end
    call('INCR', key('revision'))
    local lines, new = {}, {}
    for serviceType, counts in pairs(changes) do
      local line = lineOf(serviceType, counts)
      lines[#lines + 1] = line
      if mayBeNew(line) then new[#new + 1] = serviceType end
    end
    if #new > 0 then addServiceTypes(new) end
    if #lines > constants.maxTypesPerChange then
      fold(lines)
    elseif call('RPUSH', key('changes'), table.concat(lines, '\n')) >= constants.maxChanges then
      fold({})
    end
    changes = {}
    writeLog()
  end
end

--- @per-call
changes = {}
