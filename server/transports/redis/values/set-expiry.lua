-- `setExpiry(key, ttlMs)`: milliseconds, or empty for an entry that does not expire.

local function setExpiry(key, ttlMs)
  if ttlMs == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttlMs) end
end
