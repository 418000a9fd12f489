--- @include "../connection/prelude.lua"
--- @include "./retained-descriptions.lua"

-- `readDescriptions()` takes the hashes that the caller knows, and returns the hash of each live process, the
-- descriptions that the caller does not know, the hashes of the last processes of services that have no live one, and
-- the ids of the live processes.

local function readDescriptions()
  local known, hashes, texts, stopped, processes, isLive = {}, {}, {}, {}, {}, {}
  for _ = 1, takeNumber() do known[take()] = true end
  local function isDescribed(hash)
    if known[hash] then return true end
    local text = call('GET', key('description', hash))
    if not text then return false end
    known[hash] = true
    texts[#texts + 1] = hash
    texts[#texts + 1] = text
    return true
  end
  for _, process in ipairs(call('ZRANGE', key('registrations'), 0, -1)) do
    local hash = call('GET', key('process', process))
    if hash then isLive[process] = true end
    if hash and isDescribed(hash) then
      hashes[#hashes + 1] = hash
      processes[#processes + 1] = process
    end
  end
  for _, hash in ipairs(stoppedDescriptions(isLive)) do
    if isDescribed(hash) then stopped[#stopped + 1] = hash end
  end
  return { hashes, texts, stopped }, processes
end
