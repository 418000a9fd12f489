--[[
Stores the description that processes share, in place of the former one of the process.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     hash, description, lifetime in ms, service if the process consumes, hash of the former description or nothing
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./retained-descriptions.lua"

local hash, description, ttlMs, consumerOf, former = take(), take(), take(), take(), take()
call('SET', key('description', hash), description, 'PX', ttlMs)
if consumerOf ~= '' then retainDescription(consumerOf, hash, ttlMs, former) end
call('INCR', key('revision'))
