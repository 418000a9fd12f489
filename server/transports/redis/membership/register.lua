--[[
Registers a process and the settings of some of the types that it handles. They have no effect yet.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     process id, lifetime in ms, hash of the description, state, service if the process consumes, (service type, settings as JSON)...
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./registration.lua"

local process = take()
registerProcess(process, take(), take(), take(), take())
-- Again after a loss of all data.
call('SETNX', key('layout'), constants.dataLayout)
while position < #ARGV do
  local serviceType, settings = take(), take()
  call('HSET', key('handlers', serviceType), process, settings)
  call('SADD', key('subscribed', serviceOf(serviceType)), serviceType)
end
