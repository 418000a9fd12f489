-- `key(kind, ...)` and `queueKey(name)`.

local prefix
-- Scripts build a key per call of Redis. Concatenation takes half the time of a table.
local function key(kind, part, other, last)
  if last then return prefix .. kind .. ':' .. part .. ':' .. other .. ':' .. last end
  if other then return prefix .. kind .. ':' .. part .. ':' .. other end
  if part then return prefix .. kind .. ':' .. part end
  return prefix .. kind
end
local function queueKey(name)
  return prefix .. 'queue:' .. name .. ':'
end

-- Basis of all scripts: keys, the time, and `take` and `takeNumber`, which read the arguments in their order. The time
-- is the server's, so that processes whose clocks differ agree.
--
-- `nowText` is the time as a text: Lua takes about as long to write a number of this size as Redis takes for a short
-- command. Scripts for events pass texts to Redis in place of numbers for this reason.

local call, now, nowText, arguments, position
local function take()
  position = position + 1
  return arguments[position]
end
local function takeNumber()
  return tonumber(take())
end

-- Reads stored arguments, as "read" reads those of the script.
local function readFrom(stored, read)
  local ownArguments, ownPosition = arguments, position
  arguments, position = stored, 0
  local value = read()
  arguments, position = ownArguments, ownPosition
  return value
end

local function serviceOf(serviceType)
  return string.match(serviceType, '^[^/]*')
end
-- Tokens of leases start with the id of the process.
local function processOf(token)
  return string.match(token, '^[^.]*')
end
local function typeOf(serviceType)
  return string.match(serviceType, '/(.*)$')
end
-- Names are percent-encoded in keys.
local function decodeName(name)
  return (string.gsub(name, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

-- Keys of the logs of an event or a run: live output, and texts that were sent to it. Names of logs are not encoded.
local function logKeys(serviceType, id)
  local owner = '\n' .. decodeName(serviceOf(serviceType)) .. '\n' .. decodeName(string.sub(id, 3))
  return key('log', 'output' .. owner), key('log', 'texts' .. owner)
end

--- @per-call
prefix = KEYS[1] .. ':'
call, arguments, position = redis.call, ARGV, 0
local time = call('TIME')
nowText = time[1] .. string.sub('00000' .. time[2], -6, -4)
now = tonumber(nowText)
