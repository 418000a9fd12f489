import { join } from 'node:path';
import { createHub } from '../../dist/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import { batch } from '../measuring/batches.js';
import type { Row } from '../measuring/row.js';

const events = 20_000;
const rounds = 5;
const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };

/** Measures the turns of the event loop while handlers emit the next events. */
export async function sqliteTurns(folder: string): Promise<Row[]> {
  const hub = createHub({ transport: sqliteTransport({ file: join(folder, 'turns.db'), synchronous: 'full' }) });
  let left = 0;
  let running = 0;
  let finish = (): void => {};
  const emitNext = (): void => {
    if (left === 0) return;
    left -= 1;
    running += 1;
    void hub.emit(created, payload);
  };
  const created = hub.event<typeof payload>({
    type: 'order.created',
    handler() {
      running -= 1;
      emitNext();
      if (running === 0) finish();
    },
  });
  await hub.start();
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const turns = timeTurns();
    left = events;
    await new Promise<void>((resolve) => {
      finish = resolve;
      for (let count = 0; count < batch; count += 1) emitNext();
    });
    const times = turns.stop().sort((a, b) => a - b);
    // The first round warms up.
    if (round > 0) figures.push(times[Math.floor(times.length * 0.99)] ?? 0);
  }
  await hub.stop();
  return [
    {
      scenario: `SQLite, synchronous full: turn of the event loop, 99th percentile, ${batch} events at once`,
      unit: 'ms of processor',
      hubline: Math.min(...figures),
      target: { of: 'figure', limit: 'at most', value: 5 },
    },
  ];
}

/** Times each turn until it is stopped: its processor time, or all of its time if other threads used more. */
function timeTurns(): { stop(): number[] } {
  const times: number[] = [];
  let isStopped = false;
  let [used, at] = [process.cpuUsage(), performance.now()];
  const measure = (): void => {
    const { user, system } = process.cpuUsage(used);
    times.push(Math.min((user + system) / 1000, performance.now() - at));
    if (isStopped) return;
    [used, at] = [process.cpuUsage(), performance.now()];
    setImmediate(measure);
  };
  setImmediate(measure);
  return {
    stop() {
      isStopped = true;
      return times;
    },
  };
}
