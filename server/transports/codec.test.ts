import { expect, it } from 'vitest';
import { createFakeClock } from '../testing/fake-clock.js';
import type { Codec } from './codec.js';
import { describeTransport } from './contract/describe-transport.js';
import { maxDeadLetters } from './contract/records/dead-letters.js';
import { memoryTransport } from './memory/memory-transport.js';
import { silentLogger } from './transport.js';

const reversing: Codec = {
  encode: (text) => `>${Buffer.from(text).toString('base64')}`,
  decode: (text) => {
    if (!text.startsWith('>')) throw new Error('not encoded');
    return Buffer.from(text.slice(1), 'base64').toString();
  },
};

describeTransport('memory with a codec', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxDeadLetters, codec: reversing });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => clock.advance(ms),
    now: async () => clock.now(),
    async release() {
      await clock.settle();
      expect(clock.pendingTimers).toBe(0);
    },
  };
});

it.each([
  ['encode', { ...reversing, encode: () => JSON.parse('{secret') }],
  ['encode', { ...reversing, encode: () => JSON.parse('7') }],
])('rejects with a typed error if %s fails', async (operation, codec) => {
  const { kv } = memoryTransport({ codec }).connect({ service: 'shop', logger: silentLogger });
  await expect(kv.set('k', 'v')).rejects.toMatchObject({
    code: 'ERR_CODEC',
    message: expect.stringContaining(operation),
  });
  await expect(kv.set('k', 'v')).rejects.not.toMatchObject({ message: expect.stringContaining('secret') });
});

it.each([7, {}, { encode: () => '' }])('refuses the codec %j', (codec) => {
  expect(() => Reflect.apply(memoryTransport, undefined, [{ codec }])).toThrow('codec of memoryTransport must be');
});
