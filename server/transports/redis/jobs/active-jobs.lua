--- @include "../connection/prelude.lua"

-- `activeJobs()` returns the number of leased jobs per service type, a string that changes with the leases, and the time
-- of acceptance of the oldest job per service type that is leased or about to be.

local function noteJob(oldest, jobKey)
  local serviceType, at = unpack(call('HMGET', jobKey, 'serviceType', 'timestamp'))
  if not serviceType then return nil end
  oldest[serviceType] = math.min(oldest[serviceType] or math.huge, tonumber(at) or math.huge)
  return serviceType
end

local function activeJobs()
  local active, leased, oldest = {}, {}, {}
  for _, name in ipairs(call('SMEMBERS', key('queues'))) do
    local queue = queueKey(name)
    local ids = call('LRANGE', queue .. 'active', 0, -1)
    for _, id in ipairs(ids) do
      local serviceType = noteJob(oldest, queue .. id)
      if serviceType then active[serviceType] = (active[serviceType] or 0) + 1 end
    end
    for _, id in ipairs(call('LRANGE', queue .. 'wait', 0, -1)) do noteJob(oldest, queue .. id) end
    if #ids > 0 then leased[#leased + 1] = name .. ':' .. table.concat(ids, ',') end
  end
  table.sort(leased)
  return active, table.concat(leased, ';'), oldest
end
