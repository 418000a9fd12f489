--- @include "../connection/prelude.lua"

-- `isCancellable(serviceType, queue, id)`: if a job waits for its start, its delay or its retry, or is an event that a
-- handler has. A run that runs is ended by end-run.lua.

local function isCancellable(serviceType, queue, id)
  for _, kind in ipairs({ 'gate', 'delayed', 'newer' }) do
    if call('ZSCORE', key(kind, serviceType), id) then return true end
  end
  local keyName = call('HGET', queue .. id, 'key') or ''
  if call('ZSCORE', key('line', serviceType, keyName), id) or call('LPOS', queue .. 'wait', id) then return true end
  return call('LPOS', queue .. 'active', id) and call('EXISTS', key('run', serviceType, id)) == 0
end
