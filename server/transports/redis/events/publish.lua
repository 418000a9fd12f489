--[[
Accepts envelopes, all of them or none. Repeated with the same token it returns the same and changes nothing.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     token, milliseconds to remember it, epoch that the caller knows or empty, number of events, event...
Reply    for each event the result of acceptEmit; or a result of dataLoss, and nothing is accepted
Access   stores
]]
--- @include "./acceptance.lua"
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"

local executed, rememberMs = key('executed', take()), take()
local earlierReply = call('GET', executed)
if earlierReply then return cjson.decode(earlierReply) end
local loss = dataLoss(take())
if loss then return loss end

local receipts = {}
for index = 1, takeNumber() do receipts[index] = acceptEmit(takeEmit()) end
arrangeTypes()
writeChanges()
call('SET', executed, cjson.encode(receipts), 'PX', rememberMs)
return receipts
