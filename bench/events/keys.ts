import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHub } from '../../dist/index.js';
import { countdown } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const keys = 100_000;
const eventsPerKey = 10;
// Emitted in one turn of the event loop: the events of a thousand keys, so that those of each key have to wait.
const perTurn = 10_000;

interface Change {
  readonly key: string;
}

/** Events that run one at a time per key, beside the same events without a key. */
export async function keyedEvents(): Promise<Row[]> {
  return compare({
    scenario: `${keys} keys with ${eventsPerKey} events each, one at a time per key`,
    unit: 'events/s',
    times: keys * eventsPerKey,
    hubline: await hubline({ key: ({ key }) => key, concurrencyPerKey: 1 }),
    peers: [{ name: 'without keys', run: await hubline({}), target: { of: 'ratio', limit: 'at least', value: 0.5 } }],
  });
}

async function hubline(options: {
  key?: (change: Change) => string;
  concurrencyPerKey?: number;
}): Promise<Contender['run']> {
  const hub = createHub();
  const handled = countdown();
  const changed = hub.event<Change>({ type: 'changed', ...options, handler: async () => handled.count() });
  await hub.start();
  return async (events) => {
    const done = handled.of(events);
    for (let from = 0; from < events; from += perTurn) {
      for (let index = from; index < from + perTurn; index += 1) {
        void hub.emit(changed, { key: `customer ${Math.floor(index / eventsPerKey)}` });
      }
      await nextTurn();
    }
    await done;
  };
}
