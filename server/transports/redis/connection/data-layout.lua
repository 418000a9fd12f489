--- @include "./prelude.lua"

-- `hasOtherLayout()` returns `true` if Redis has data in another layout.

local function hasOtherLayout()
  local layout = call('GET', key('layout'))
  if layout then return tonumber(layout) ~= constants.dataLayout end
  -- Builds before the first layout with a number wrote none.
  return call('EXISTS', key('queues'), key('services')) > 0
end
