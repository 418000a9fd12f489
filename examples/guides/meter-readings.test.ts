import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createMeterHub, type Reading, readingTaken } from './meter-readings.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('stores many readings per call, and retries those that were refused', async () => {
    const stored = new Map<string, Reading>();
    const sizes: number[] = [];
    const known = new Set(['m-1', 'm-2']);
    const insert = async (rows: readonly Reading[]): Promise<ReadonlySet<string>> => {
      sizes.push(rows.length);
      for (const row of rows) if (known.has(row.meter)) stored.set(row.id, row);
      const refused = rows.filter(({ meter }) => !known.has(meter)).map(({ id }) => id);
      known.add('m-3');
      return new Set(refused);
    };
    const hub = await startHub(createMeterHub(insert, options()));
    const readings = Array.from({ length: 30 }, (_, n) => ({ meter: `m-${1 + (n % 3)}`, kWh: n }));
    await hub.emitMany(readingTaken, readings);
    await eventually(async () =>
      expect(await hub.metrics('reading.taken')).toMatchObject({ received: 30, completed: 30, failed: 0 }),
    );
    expect(stored.size).toBe(30);
    expect(sizes.length).toBeLessThan(30);
  });
});
