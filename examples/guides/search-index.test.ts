import { memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { describe, expect, test, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createIndexHub } from './search-index.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('indexes only the last edit of each product', async () => {
    const indexed: string[] = [];
    const index = async (_id: string, title: string): Promise<void> => void indexed.push(title);
    const hub = await startHub(createIndexHub(index, 200, options()));
    const edits = ['Tea', 'Teapo', 'Teapot'].map((title) => ({ productId: 'p1', title }));
    const receipts = await hub.emitMany('product.edited', [...edits, { productId: 'p2', title: 'Cup' }]);
    expect(receipts.map(({ deduplicated }) => deduplicated)).toEqual([false, true, true, false]);
    await vi.waitFor(async () =>
      expect(await hub.metrics('product.edited')).toMatchObject({ received: 2, completed: 2, deduplicated: 2 }),
    );
    expect(indexed.sort()).toEqual(['Cup', 'Teapot']);
  });
});

test('each edit starts the pause again, for at most a minute', async () => {
  const clock = createFakeClock();
  const indexed: string[] = [];
  const index = async (_id: string, title: string): Promise<void> => void indexed.push(title);
  const hub = await startHub(createIndexHub(index, 5_000, { transport: memoryTransport({ clock }) }));
  const edit = (title: string) => hub.emit('product.edited', { productId: 'p1', title });

  await edit('one');
  await clock.advance(4_999);
  await edit('two');
  await clock.advance(4_999);
  expect(indexed).toEqual([]);
  await clock.advance(1);
  expect(indexed).toEqual(['two']);

  for (let second = 0; second < 60; second += 4) {
    await edit(`after ${second} s`);
    await clock.advance(4_000);
  }
  expect(indexed).toEqual(['two', 'after 56 s']);
});
