--[[
Returns the epoch of the data. If a caller knew another one, Redis has lost its data: no event is accepted for constants.recoveryMs ms, in which services register again.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     epoch that the caller knew or empty, new epoch
Reply    the epoch
Access   works
]]
--- @include "./prelude.lua"

local known, new = take(), take()
local epoch = key('epoch')
call('HSETNX', epoch, 'id', new)
local id = call('HGET', epoch, 'id')
if known ~= '' and known ~= id and call('HSETNX', epoch, 'recovered', 1) == 1 then
  call('SET', key('recovering'), '', 'PX', constants.recoveryMs)
end
return id
