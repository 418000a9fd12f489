import { Script } from './script.js';

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

/** Pushes to a list, trims it and sets its expiry. */
export const appendScript: Script = new Script(`
for index = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[index]) end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) end
if ARGV[2] ~= '' then redis.call('LTRIM', KEYS[1], -ARGV[2], -1) end
${expire}
return redis.call('LLEN', KEYS[1])
`);
