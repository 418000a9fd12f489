--- @include "../connection/prelude.lua"

-- `forgetQueue(name)` deletes the keys of a worker queue that holds no jobs.

local function forgetQueue(name)
  local queue = queueKey(name)
  if call('EXISTS', queue .. 'wait', queue .. 'active') > 0 then return end
  call('SREM', key('queues'), name)
  for _, part in ipairs({ 'meta', 'events', 'marker', 'stalled', 'stalled-check' }) do call('DEL', queue .. part) end
  call('DEL', key('turn', name))
end
