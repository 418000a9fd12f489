import { statSync } from 'node:fs';
import { createHub } from 'hubline';
import { expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger } from '../../transport.js';
import { sqliteTransport } from '../sqlite-transport.js';
import { newFile, openBeside } from '../stage.fixture.js';
import { readNumber } from './open-database.js';

interface Payload {
  readonly n: number;
  readonly text: string;
}

const text = 'x'.repeat(400);

it.each([
  ['20,000 events', 'nothing happens', 20_000, false],
  ['50,000 events', 'events that come now and then are handled', 50_000, true],
])('a file that held %s shrinks after their end, while %s', async (_events, _meanwhile, count, hasLater) => {
  const file = newFile();
  const transport = sqliteTransport({ file, synchronous: 'normal' });
  const emitter = createHub({ service: 'emitter', transport, logger: silentLogger });
  const order = emitter.event<Payload>({ type: 'order', subscribers: ['shop'] });
  await emitter.start();
  for (let n = 0; n < count; n += 5_000) {
    await emitter.emitMany(
      order,
      Array.from({ length: 5_000 }, (_, index) => ({ n: n + index, text })),
    );
  }
  const size = (): number => statSync(file).size;
  const beside = await openBeside(file);
  // Some of them are in the log.
  const sizeWithEvents = readNumber(beside, 'PRAGMA page_count') * readNumber(beside, 'PRAGMA page_size');
  expect(sizeWithEvents).toBeGreaterThan(8_000_000);
  const hub = createHub({ service: 'shop', transport, logger: silentLogger, concurrency: 100 });
  const created = hub.event<Payload>({ type: 'order', handler: () => {} });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
    await emitter.stop();
  });
  const waitUntil = (check: () => Promise<void>): Promise<void> =>
    vi.waitFor(check, { timeout: 300_000, interval: 50 });
  const completed = async (): Promise<number> => (await hub.metrics('order')).completed;
  await waitUntil(async () => expect(await completed()).toBe(count));
  let later = 0;
  await waitUntil(async () => {
    if (hasLater) {
      await hub.emit(created, { n: count + later, text });
      later += 1;
    }
    expect(size()).toBeLessThan(sizeWithEvents / 4);
  });
  await waitUntil(async () => expect(await completed()).toBe(count + later));
});
