import { expect, it } from 'vitest';
import { readLua } from '../../../../scripts/lua/build-lua.js';
import { composeLibrary } from '../../../../scripts/lua/lua-library.js';
import { ScriptLibrary } from '../connection/script.js';
import { luaConstants } from '../lua-constants.js';
import { startTestRedis } from '../test-redis.fixture.js';

const { admin } = await startTestRedis();

const countWaits = `--[[
Counts four waiting times.

KEYS[1]  prefix
ARGV     nothing
Reply    nothing
Access   works
]]
--- @include "./counters.lua"

for _, ms in ipairs({ 0.85, 0.95, 1, 1.2 }) do countWait('s/a', ms) end
writeChanges()
`;

it('counts waiting times around a millisecond in one bucket, and notes the longest one', async () => {
  const texts = readLua().set('statistics/count-waits.lua', countWaits);
  const { name, functions, lua } = composeLibrary('test', texts, luaConstants);
  await new ScriptLibrary(name, functions, lua).scripts['countWaits']?.run(admin, '{waits}', []);
  const [line] = await admin.lrange('{waits}:changes', 0, -1);
  expect(line?.split(' ').slice(3).sort()).toEqual(['p=1200', 'w0=3', 'w1=1']);
});
