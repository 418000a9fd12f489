import { createHub } from 'hubline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { explainRequest, forgetRequest, replayRequest } from './lookup.js';

test('a failed event is found from its request, replayed and forgotten', async () => {
  const hub = createHub();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  let isUp = false;
  hub.event({ type: 'order.placed', handler: ({ emit }) => emit('invoice.due', { amount: 9 }) });
  hub.event({
    type: 'invoice.due',
    handler: () => {
      if (!isUp) throw new Error('the printer is out of paper');
    },
  });
  await hub.start();
  const before = new Date(0);
  await hub.emit('order.placed', {}, { requestId: 'request-7' });
  await hub.emit('order.placed', {}, { requestId: 'request-8' });
  await vi.waitFor(async () => expect(await hub.metrics('invoice.due')).toMatchObject({ failed: 2 }));
  expect(await explainRequest(hub, 'request-7')).toEqual([
    'order.placed completed',
    '  invoice.due failed: the printer is out of paper',
  ]);
  isUp = true;
  expect(await replayRequest(hub, 'invoice.due', 'request-7', before)).toBe(1);
  await vi.waitFor(async () =>
    expect(await explainRequest(hub, 'request-7')).toEqual(['order.placed completed', '  invoice.due completed']),
  );
  expect(await hub.deadLetters('invoice.due')).toHaveLength(1);
  await forgetRequest(hub, 'request-8');
  expect(await hub.deadLetters('invoice.due')).toEqual([]);
  expect(await hub.metrics('invoice.due')).toMatchObject({ received: 3, failed: 2, completed: 1 });
});
