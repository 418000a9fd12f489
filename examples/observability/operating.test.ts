import { createHub } from 'hubline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newErrors } from './operating.js';

test('errors are grouped, and named with the release in which they began', async () => {
  const hub = createHub({ release: '2.1.0' });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  hub.event<number>({
    type: 'payment.requested',
    handler: ({ payload }) => {
      throw new Error(`card of order ${payload} declined`);
    },
  });
  await hub.start();
  for (const order of [4711, 4712]) await hub.emit('payment.requested', order);
  await vi.waitFor(async () =>
    expect(await newErrors(hub)).toEqual([
      '2 × payment.requested: Error: card of order # declined (2 dead letters, since 2.1.0)',
    ]),
  );
});
