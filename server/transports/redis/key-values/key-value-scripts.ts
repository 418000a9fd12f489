import { Script } from '../scripts/script.js';

const expire = `
local ttlMs = ARGV[1]
if ttlMs == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ttlMs) end
`;

/** Adds to a number and sets its expiry. `KEYS[1]` is the value's own key, as in the next one. */
export const incrementScript: Script = new Script(`
local sum = redis.call('INCRBY', KEYS[1], ARGV[2])
${expire}
return sum
`);

/** Pushes to a list, trims it and sets its expiry; nothing where it would become too long. Answers its length. */
export const appendScript: Script = new Script(`
local longest, keepLast = tonumber(ARGV[2]), tonumber(ARGV[3]) or math.huge
local length = math.min(redis.call('LLEN', KEYS[1]) + #ARGV - 3, keepLast)
if length > longest then return false end
if length == 0 then return 0 end
for index = 4, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[index]) end
redis.call('LTRIM', KEYS[1], -length, -1)
${expire}
return length
`);
