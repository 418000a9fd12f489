import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHub } from '../dist/index.js';

/** Heap in use after so many events, garbage collected first. */
export interface HeapSample {
  readonly events: number;
  readonly heapMegabytes: number;
}

const total = 2_000_000;
const types = 100;
const perSample = 250_000;
const inFlight = 1_000;

/** Two million events of a hundred types, some failing, retried, deduplicated or followed by others. */
export async function memory(): Promise<HeapSample[]> {
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
  const samples: HeapSample[] = [];
  for (let n = 1; n <= total; n += 1) {
    void hub.emit(`type ${n % types}`, { n }, n % 10 === 0 ? { dedupeId: `d ${n}` } : undefined);
    if (n % inFlight === 0) await nextTurn();
    if (n % perSample === 0) {
      await idle();
      collectGarbage();
      samples.push({ events: n, heapMegabytes: process.memoryUsage().heapUsed / 2 ** 20 });
    }
  }
  await hub.stop();
  return samples;

  async function idle(): Promise<void> {
    for (;;) {
      const { events } = await hub.introspect();
      if (events.every(({ metrics }) => metrics.pending === 0)) return;
      await nextTurn();
    }
  }
}
