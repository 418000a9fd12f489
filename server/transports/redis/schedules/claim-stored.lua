--[[
Records a due time of a stored schedule and accepts its events, once over all processes.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     epoch that the caller knows or empty, id, definition, due time, next time to look at it or empty, number of events, event...
Reply    as that of claim.lua
Access   stores
]]
--- @include "../events/acceptance.lua"
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "./stored-schedules.lua"

local loss = dataLoss(take())
if loss then return loss end
local id, definition, dueText, lookAt = take(), take(), take(), take()
local dueAt = tonumber(dueText)
if dueAt > now then return { 'early', string.format('%.17g', dueAt - now) } end
local known = readStored(id)
if not known or known[2] ~= definition then return { 'replaced' } end
if dueAt <= tonumber(known[3]) then return { 'already', known[3] } end
for _ = 1, takeNumber() do acceptEmit(takeEmit()) end
call('HSET', key('stored-schedule', id), 'position', dueText, 'lastDue', dueText, 'lookAt', lookAt)
lookAtStored(id, lookAt)
arrangeTypes()
writeChanges()
call('INCR', key('revision'))
return { 'claimed' }
