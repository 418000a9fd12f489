import { expect, it } from 'vitest';
import { TickBatch } from './tick-batch.js';

it('sends what is added in one turn together, and gives each its own answer', async () => {
  const sent: number[][] = [];
  const batch = new TickBatch<number, string>(3, async (items) => {
    sent.push([...items]);
    return items.map(String);
  });
  expect(await Promise.all([1, 2, 3, 4].map((item) => batch.add(item)))).toEqual(['1', '2', '3', '4']);
  expect(await batch.add(5)).toBe('5');
  expect(sent).toEqual([[1, 2, 3], [4], [5]]);
});

it('tells when what was added is on its way, before there is an answer', async () => {
  const log: string[] = [];
  const batch = new TickBatch<number, number>(2, async (items) => {
    log.push(`sent ${items.join()}`);
    await new Promise(setImmediate);
    return items;
  });
  const answered = Promise.all([1, 2, 3].map((item) => batch.add(item))).then(() => log.push('answered'));
  await batch.sent;
  log.push('on its way');
  await answered;
  expect(log).toEqual(['sent 1,2', 'sent 3', 'on its way', 'answered']);
});

it('rejects all of a batch that could not be sent, and only those', async () => {
  const batch = new TickBatch<number, number>(2, async (items) => {
    if (items.includes(1)) throw new Error('no');
    return items;
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

it('does not leave waiting what got no answer', async () => {
  const batch = new TickBatch<number, number>(2, async () => []);
  await expect(batch.add(1)).rejects.toThrow(RangeError);
});
