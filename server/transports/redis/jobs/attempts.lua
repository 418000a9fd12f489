--- @include "../connection/prelude.lua"

-- Attempts of a job that ended without ending its event, a line of JSON each: attempt, start, end, error as JSON, and 1
-- if the attempt was interrupted. An interrupted one has an error for processes that do not know the 1.
--
-- - `noteAttempt(job, attempt, startedAt, error)` retains a failed attempt, `noteInterruption(job)` an interrupted one
-- - `isInterrupted(leased, starts)` returns `true` if the last lease of a job has ended without an outcome, or lives
-- - `attemptsOf(job)` returns the lines, with one for a lease that was lost

local function addAttempt(job, line)
  local lines = {}
  for each in string.gmatch(call('HGET', job, 'attempts') or '', '[^\n]+') do lines[#lines + 1] = each end
  lines[#lines + 1] = line
  if #lines >= constants.retainedAttempts then table.remove(lines, 2) end
  call('HSET', job, 'attempts', table.concat(lines, '\n'))
end

local function noteAttempt(job, attempt, startedAt, error)
  addAttempt(job, string.format('[%d,%.0f,%.0f,', attempt, startedAt, now) .. error .. ']')
end

-- Something else may have changed the fields.
local function interruptedLine(attemptsMade, startedAt)
  return string.format('[%d,%.0f,%.0f,', (tonumber(attemptsMade) or 0) + 1, tonumber(startedAt) or now, now) .. constants.interruptedError .. ',1]'
end

-- Processes of earlier versions lease jobs without "leased".
local function isInterrupted(leased, starts)
  return leased and leased == starts
end

local function noteInterruption(job)
  local leased, starts, attemptsMade, startedAt = unpack(call('HMGET', job, 'leased', 'ats', 'atm', 'processedOn'))
  if isInterrupted(leased, starts) then addAttempt(job, interruptedLine(attemptsMade, startedAt)) end
end

local function attemptsOf(job)
  local lines, leased, starts, attemptsMade, startedAt =
    unpack(call('HMGET', job, 'attempts', 'leased', 'ats', 'atm', 'processedOn'))
  if not isInterrupted(leased, starts) or call('EXISTS', job .. ':lock') == 1 then return lines or '' end
  return (lines and lines .. '\n' or '') .. interruptedLine(attemptsMade, startedAt)
end
