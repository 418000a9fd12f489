--- @include "../connection/prelude.lua"

-- `standsWaiting(serviceType, queue, id)`: if a job waits for its start, its delay or its retry.

local function standsWaiting(serviceType, queue, id)
  for _, kind in ipairs({ 'gate', 'delayed', 'newer' }) do
    if call('ZSCORE', key(kind, serviceType), id) then return true end
  end
  local keyName = call('HGET', queue .. id, 'key') or ''
  if call('ZSCORE', key('line', serviceType, keyName), id) then return true end
  return call('LPOS', queue .. 'wait', id) and true or false
end
