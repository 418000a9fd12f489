import { expect, it, onTestFinished } from 'vitest';
import { measureOldBytes } from '../../../hub/bytes-left.fixture.js';
import { createHub } from '../../../hub/create-hub.js';
import { sqliteTransport } from '../sqlite-transport.js';
import { newFile } from '../stage.fixture.js';

// Alone in its file: V8 would learn from the events of other tests.
it('events that are read after a start with many in memory leave their records alone', async () => {
  const [inMemory, untilOptimized, measured] = [5_000, 2_000, 10_000];
  const all = inMemory + untilOptimized + measured;
  const options = { file: newFile(), synchronous: 'normal', maxPendingInMemory: inMemory } as const;
  const web = createHub({ service: 'web', transport: sqliteTransport(options) });
  const created = web.event<{ id: number }>({ type: 'order.created', subscribers: ['shop'] });
  await web.start();
  const payloads = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  for (let sent = 0; sent < all; sent += payloads.length) await web.emitMany(created, payloads);
  await web.stop();
  const hub = createHub({ service: 'shop', transport: sqliteTransport(options), concurrency: 100 });
  onTestFinished(async () => {
    await hub.stop();
  });
  let handled = 0;
  let grown = () => Number.NaN;
  const bytes = await new Promise<number>((resolve, reject) => {
    const handler = () => {
      handled += 1;
      if (handled === inMemory + untilOptimized) grown = measureOldBytes();
      if (handled === all) resolve(grown());
    };
    hub.event<{ id: number }>({ type: 'order.created', handler });
    hub.start().catch(reject);
  });
  // About 30 per event; with literals, which V8 then creates as old objects, 600.
  expect(bytes / measured).toBeLessThan(250);
});
