--[[
Finds the runs that keep an event until one of their waits takes it.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     job id of the event
Reply    for each run service type, job id of the run, type of the event
Access   reads
]]
--- @include "../connection/prelude.lua"

local reply = {}
for _, member in ipairs(call('SMEMBERS', key('keepers', take()))) do
  local serviceType, id, name = string.match(member, '^(%S+) (%S+) (.*)$')
  local json = call('HGET', key('run', serviceType, id, 'inbox'), name)
  local event = json and cjson.decode(json) or { isTaken = true }
  if not event.isTaken then reply[#reply + 1] = { serviceType, id, event.type } end
end
return reply
