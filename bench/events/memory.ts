import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHub } from '../../dist/index.js';
import type { Row } from '../measuring/row.js';

const total = 2_000_000;
const types = 100;
const settled = 500_000;
const inFlight = 1_000;
// Emitting is faster than handling.
const perDrain = 100_000;

/** Measures the heap over two million events of 100 types, some of which fail, retry, deduplicate or cause others. */
export async function memory(): Promise<Row[]> {
  const collectGarbage = globalThis.gc;
  if (collectGarbage === undefined) throw new Error('run with --expose-gc');
  const hub = createHub();
  for (let i = 0; i < types; i += 1) {
    hub.event<{ n: number }>({
      type: `type ${i}`,
      retry: { maxAttempts: 2, initialDelayMs: 1 },
      onComplete: 'ended',
      dedupeWindowMs: 100,
      handler: async ({ payload, attempt }) => {
        if (payload.n % 100 === 0 && attempt === 1) throw new Error('flaky');
        if (payload.n % 1_000 === 1) throw new Error('broken');
      },
    });
  }
  hub.event({ type: 'ended' });
  await hub.start();
  // In MB, after all events have ended and a garbage collection.
  const heapInUse = async (): Promise<number> => {
    await idle();
    collectGarbage();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  let heapWhenSettled = 0;
  for (let n = 1; n <= total; n += 1) {
    void hub.emit(`type ${n % types}`, { n }, n % 10 === 0 ? { dedupeId: `d ${n}` } : undefined);
    if (n % inFlight === 0) await nextTurn();
    if (n % perDrain === 0) await idle();
    if (n === settled) heapWhenSettled = await heapInUse();
  }
  const heapAtEnd = await heapInUse();
  await hub.stop();
  return [
    {
      scenario: `heap after ${total.toLocaleString('en')} events of ${types} types`,
      unit: 'MB',
      hubline: heapAtEnd,
      peer: { name: `after ${settled.toLocaleString('en')}`, figure: heapWhenSettled },
      target: { of: 'ratio', limit: 'at most', value: 1.1 },
    },
  ];

  async function idle(): Promise<void> {
    for (;;) {
      const { events } = await hub.introspect();
      if (events.every(({ metrics }) => metrics.pending === 0)) return;
      await nextTurn();
    }
  }
}
