--- @include "./prelude.lua"

-- `dataLoss(epoch)` returns `'lost'` if Redis has lost its data since the epoch began, and `'recovering'` while services
-- register again; nothing if events can be accepted.

local function dataLoss(epoch)
  if epoch ~= '' and call('HGET', key('epoch'), 'id') ~= epoch then return 'lost' end
  return call('EXISTS', key('recovering')) == 1 and 'recovering' or nil
end
