--[[
Counts the losses in a row of a leased job. The first loss counts always, a later one only if note-start.lua had noted that the handler started. A job that was lost while it ran alone is the cause.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, job id, token
Reply    the count, and 1 if the job is the cause or 0; or nothing if the lease is lost
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/leases.lua"

local queue, id, token = take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return nil end
local started, crashes = unpack(call('HMGET', queue .. id, 'started', 'crashes'))
call('HDEL', queue .. id, 'started')
if not crashes or started then crashes = call('HINCRBY', queue .. id, 'crashes', 1) end
if started == 'alone' then call('HSET', queue .. id, 'cause', 1) end
return { tonumber(crashes), call('HEXISTS', queue .. id, 'cause') }
