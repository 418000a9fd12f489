import { readFile } from 'node:fs/promises';
import { checkRuns } from 'hubline/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import {
  createShippingHub,
  firstShipping,
  orderPaid,
  parcelPacked,
  type Services,
  shipping,
} from './changed-workflow.js';

function services(): Services & { readonly log: string[] } {
  const log: string[] = [];
  const note = (text: string): string => {
    log.push(text);
    return text;
  };
  return {
    log,
    printLabel: async (id) => note(`label ${id}`),
    bookCarrier: async (id) => note(`booking ${id}`),
    tell: (text) => void log.push(text),
  };
}

test('the changed code continues the runs that wait in production', async () => {
  const records = JSON.parse(await readFile(new URL('shipping-runs.json', import.meta.url), 'utf8'));
  const { checked, differences } = await checkRuns(shipping(services()), records);
  expect(checked).toBeGreaterThan(0);
  expect(differences).toEqual([]);
});

describe.each(everyTransport)('on %s', (_name, options) => {
  test('a run that has a label keeps it after the deploy, and a new run books the carrier', async () => {
    const shop = services();
    const shared = options();
    const first = await startHub(createShippingHub(firstShipping(shop), shared));
    await first.emit(orderPaid, { id: 'A' });
    await eventually(async () => expect(await suspended(first)).toBe(1));
    await first.stop();

    const second = await startHub(createShippingHub(shipping(shop), shared));
    await second.emit(orderPaid, { id: 'B' });
    await eventually(async () => expect(await suspended(second)).toBe(2));
    await second.emitMany(parcelPacked, [{ id: 'A' }, { id: 'B' }]);
    await eventually(() => expect(shop.log).toHaveLength(4));
    expect(shop.log.slice(0, 2)).toEqual(['label A', 'booking B']);
    expect(shop.log.slice(2).sort()).toEqual(['A leaves with label A', 'B leaves with booking B']);
  });

  test('a process with the old version leaves a run of the new version to others', async () => {
    const shop = services();
    const shared = options();
    const newer = await startHub(createShippingHub(shipping(shop), shared));
    await newer.emit(orderPaid, { id: 'B' });
    await eventually(async () => expect(await suspended(newer)).toBe(1));
    await newer.stop();

    const messages: unknown[] = [];
    const ignore = (): void => {};
    const logger = { debug: (...args: unknown[]) => messages.push(args[1]), info: ignore, warn: ignore, error: ignore };
    const older = await startHub(createShippingHub(firstShipping(shop), { ...shared, logger }));
    await older.emit(parcelPacked, { id: 'B' });
    await eventually(() => expect(messages).toContainEqual(expect.stringMatching(/^run released: a higher version/)));
    await startHub(createShippingHub(shipping(shop), shared));
    await eventually(() => expect(shop.log).toEqual(['booking B', 'B leaves with booking B']));
  });
});

async function suspended(hub: Awaited<ReturnType<typeof startHub>>): Promise<number | undefined> {
  const { workflows } = await hub.introspect();
  return workflows[0]?.metrics.suspended;
}
