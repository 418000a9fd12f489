import { expect, it, onTestFinished, vi } from 'vitest';
import { type BatchLimits, TickBatch } from './tick-batch.js';

function upTo(maxSize: number): BatchLimits<number> {
  return { maxSize, maxWeight: 100, weigh: (item) => item };
}

it('sends the items of one turn together, and resolves each with its own reply', async () => {
  const sent: number[][] = [];
  const batch = new TickBatch<number, string>(upTo(3), async (items) => {
    sent.push([...items]);
    return items.map(String);
  });
  expect(await Promise.all([1, 2, 3, 4].map((item) => batch.add(item)))).toEqual(['1', '2', '3', '4']);
  expect(await batch.add(5)).toBe('5');
  expect(sent).toEqual([[1, 2, 3], [4], [5]]);
});

it('sends patient items together, at the latest with the next one that is not', async () => {
  const sent: number[][] = [];
  const batch = new TickBatch<number, number>(upTo(9), async (items) => {
    sent.push([...items]);
    return items;
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const patient = [batch.add(1, true)];
  await turn();
  patient.push(batch.add(2, true));
  expect(sent).toEqual([]);
  const urgent = batch.add(3);
  await turn();
  expect(sent).toEqual([[1, 2, 3]]);
  expect(await Promise.all([...patient, urgent])).toEqual([1, 2, 3]);
  const later = [batch.add(4, true), batch.add(5, true)];
  await vi.advanceTimersByTimeAsync(1);
  expect(await Promise.all(later)).toEqual([4, 5]);
  expect(sent).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});

it('rejects all items of a batch that could not be sent, and no others', async () => {
  const batch = new TickBatch<number, number>(upTo(2), async (items) => {
    if (items.includes(1)) throw new Error('no');
    return items;
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

it('rejects items without a reply', async () => {
  const batch = new TickBatch<number, number>(upTo(2), async () => []);
  await expect(batch.add(1)).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_DATA' });
});

it('sends at most the maximum weight together, and a heavier item alone', async () => {
  const sent: number[][] = [];
  const batch = new TickBatch<number, number>(upTo(9), async (items) => {
    sent.push([...items]);
    return items;
  });
  await Promise.all([50, 50, 1, 300, 2, 3].map((item) => batch.add(item)));
  expect(sent).toEqual([[50, 50], [1], [300], [2, 3]]);
});
