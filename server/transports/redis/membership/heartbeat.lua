--[[
Extends the registration of a process, and removes dead members of its service.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     process id, lifetime in ms, hash of the description, state, service if the process consumes, service
Reply    nothing if the process is not registered; else 0 if the description has yet to be stored or 1, number of membership changes, the last one that a rebalance includes
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./live-handlers.lua"
--- @include "./registration.lua"

local process, ttlMs, hash, state, consumerOf, service = take(), take(), take(), take(), take(), take()
local members = key('members', service)
if not isLive(process) or consumerOf ~= '' and not call('ZSCORE', members, process) then return nil end
for _, member in ipairs(call('ZRANGE', members, 0, -1)) do
  if not isLive(member) then
    call('ZREM', members, member)
    call('ZREM', key('registrations'), member)
    call('HINCRBY', key('settlement', service), 'changes', 1)
    call('INCR', key('revision'))
  end
end
return { registerProcess(process, ttlMs, hash, state, consumerOf), changesOfMembers(service) }
