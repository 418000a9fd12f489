import { describe, expect, test, vi } from 'vitest';
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

describe.each(everyTransport)('on %s', (_name, options) => {
  test('a run that has a label keeps it after the deploy, and a new run books the carrier', async () => {
    const shop = services();
    const shared = options();
    const first = await startHub(createShippingHub(firstShipping(shop), shared));
    await first.emit(orderPaid, { id: 'A' });
    await vi.waitFor(async () => expect(await suspended(first)).toBe(1));
    await first.stop();

    const second = await startHub(createShippingHub(shipping(shop), shared));
    await second.emit(orderPaid, { id: 'B' });
    await vi.waitFor(async () => expect(await suspended(second)).toBe(2));
    await second.emitMany(parcelPacked, [{ id: 'A' }, { id: 'B' }]);
    await vi.waitFor(() => expect(shop.log).toHaveLength(4));
    expect(shop.log.slice(0, 2)).toEqual(['label A', 'booking B']);
    expect(shop.log.slice(2).sort()).toEqual(['A leaves with label A', 'B leaves with booking B']);
  });

  test('a process with the old version leaves a run of the new version to others', async () => {
    const shop = services();
    const shared = options();
    const newer = await startHub(createShippingHub(shipping(shop), shared));
    await newer.emit(orderPaid, { id: 'B' });
    await vi.waitFor(async () => expect(await suspended(newer)).toBe(1));
    await newer.stop();

    const messages: unknown[] = [];
    const ignore = (): void => {};
    const logger = { debug: (...args: unknown[]) => messages.push(args[1]), info: ignore, warn: ignore, error: ignore };
    const older = await startHub(createShippingHub(firstShipping(shop), { ...shared, logger }));
    await older.emit(parcelPacked, { id: 'B' });
    await vi.waitFor(() => expect(messages).toContainEqual(expect.stringMatching(/^run released: a higher version/)));
    await startHub(createShippingHub(shipping(shop), shared));
    await vi.waitFor(() => expect(shop.log).toEqual(['booking B', 'B leaves with booking B']), 30_000);
  });
});

async function suspended(hub: Awaited<ReturnType<typeof startHub>>): Promise<number | undefined> {
  const { workflows } = await hub.introspect();
  return workflows[0]?.metrics.suspended;
}
