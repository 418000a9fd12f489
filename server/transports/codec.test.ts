import { expect, it } from 'vitest';
import { createFakeClock } from '../testing/fake-clock.js';
import { contractCodec, describeTransport } from './contract/describe-transport.js';
import { maxDeadLetters } from './contract/records/dead-letters.js';
import { memoryTransport } from './memory/memory-transport.js';
import { silentLogger } from './transport.js';

describeTransport('memory with a codec', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxDeadLetters, codec: contractCodec });
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
  ['encode', { ...contractCodec, encode: () => JSON.parse('{secret') }],
  ['encode', { ...contractCodec, encode: () => JSON.parse('7') }],
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
