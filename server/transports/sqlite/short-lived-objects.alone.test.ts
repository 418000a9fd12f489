import { expect, it, onTestFinished } from 'vitest';
import { bytesLeft } from '../../hub/bytes-left.fixture.js';
import { createHub } from '../../hub/create-hub.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile } from './stage.fixture.js';

it('events that have ended leave their records alone', async () => {
  const hub = createHub({ transport: sqliteTransport({ file: newFile(), synchronous: 'normal' }) });
  onTestFinished(async () => {
    await hub.stop();
  });
  const event = hub.event<{ id: number }>({ type: 'order.created', handler: () => {} });
  await hub.start();
  const emitTen = () => Promise.all(Array.from({ length: 10 }, (_, id) => hub.emit(event, { id })));
  // About 900; with the maps of earlier transactions, 8,500.
  expect(await bytesLeft(emitTen, 200)).toBeLessThan(4_000);
});

it('events that were in the file alone leave their records alone', async () => {
  const concurrency = 100;
  const repetitions = 15;
  const transport = sqliteTransport({ file: newFile(), synchronous: 'normal', maxPendingInMemory: 10 });
  const hub = createHub({ transport, concurrency });
  onTestFinished(async () => {
    await hub.stop();
  });
  const running: (() => void)[] = [];
  const handler = () => new Promise<void>((resolve) => running.push(resolve));
  const event = hub.event<{ id: number }>({ type: 'order.created', handler });
  await hub.start();
  // Enough for all rounds, and for those that run when the last one ends.
  const payloads = Array.from({ length: concurrency * repetitions * 6 }, (_, id) => ({ id }));
  await hub.emitMany(event, payloads);
  const endRunning = async () => {
    while (running.length < concurrency) await new Promise((resolve) => setImmediate(resolve));
    for (const end of running.splice(0)) end();
  };
  // About 130 per event; with the tables of the maps through which they passed, 600 to 1,000.
  expect(await bytesLeft(endRunning, repetitions)).toBeLessThan(concurrency * 350);
});
