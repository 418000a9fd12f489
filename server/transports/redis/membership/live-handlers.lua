--- @include "../connection/prelude.lua"

-- `isLive(process)` and `hasLiveHandler(serviceType)`: if a live process handles a service type.

local lives
local function isLive(process)
  if lives[process] == nil then lives[process] = call('EXISTS', key('process', process)) == 1 end
  return lives[process]
end

local function hasLiveHandler(serviceType)
  for _, process in ipairs(call('HKEYS', key('handlers', serviceType))) do
    if isLive(process) then return true end
  end
  return false
end

--- @per-call
lives = {}
