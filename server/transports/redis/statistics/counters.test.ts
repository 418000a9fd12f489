import { expect, it } from 'vitest';
import { Script, ScriptLibrary } from '../connection/script.js';
import { startTestRedis } from '../test-redis.fixture.js';
import { counters } from './counters.js';

const { admin } = await startTestRedis();

it('counts waiting times around a millisecond in one bucket', async () => {
  const script = new Script({
    name: 'countWaits',
    purpose: 'Counts four waiting times.',
    access: 'works',
    argv: 'nothing',
    reply: 'nothing',
    includes: [counters],
    lua: `for _, ms in ipairs({ 0.85, 0.95, 1, 1.2 }) do countWait('s/a', ms) end\nwriteChanges()`,
  });
  script.library = new ScriptLibrary('test', [script]);
  await script.run(admin, '{waits}', []);
  const [line] = await admin.lrange('{waits}:changes', 0, -1);
  expect(line?.split(' ').slice(3).sort()).toEqual(['w0=3', 'w1=1']);
});
