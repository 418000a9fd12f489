import { LuaFragment } from '../scripts/lua-fragment.js';
import { Script } from '../scripts/script.js';

const key = 'key of the entry';

/** `setExpiry(key, ttlMs)`: milliseconds, or empty for an entry that does not expire. */
const expiry = new LuaFragment(`
local function setExpiry(key, ttlMs)
  if ttlMs == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttlMs) end
end
`);

export const incrementScript: Script = new Script({
  name: 'increment',
  access: 'stores',
  purpose: 'Adds to a whole number.',
  key,
  argv: 'time to live in ms or empty, number to add',
  reply: 'the sum',
  includes: [expiry],
  lua: `
local sum = redis.call('INCRBY', KEYS[1], ARGV[2])
setExpiry(KEYS[1], ARGV[1])
return sum
`,
});

export const appendScript: Script = new Script({
  name: 'append',
  access: 'stores',
  purpose: 'Pushes values to the end of a list and trims it. Changes nothing if the list would become too long.',
  key,
  argv: 'time to live in ms or empty, maximum length, number of entries to keep or empty, value...',
  reply: 'the length, or nothing if the list would become too long',
  includes: [expiry],
  lua: `
local maxLength, keepLast = tonumber(ARGV[2]), tonumber(ARGV[3]) or math.huge
local length = math.min(redis.call('LLEN', KEYS[1]) + #ARGV - 3, keepLast)
if length > maxLength then return false end
if length == 0 then return 0 end
for index = 4, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[index]) end
redis.call('LTRIM', KEYS[1], -length, -1)
setExpiry(KEYS[1], ARGV[1])
return length
`,
});
