import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { SendTurn } from './send-turn.js';
import { TickBatch } from './tick-batch.js';

it('sends outcomes before fetches that were asked for earlier, in one write', async () => {
  const stream = new PassThrough();
  const chunks: string[] = [];
  let ended = 0;
  const turn = new SendTurn();
  turn.use({ stream } as never);
  const batch = (name: string, schedule: SendTurn['addFetches']): TickBatch<number, number> =>
    new TickBatch<number, number>(
      { maxSize: 2, maxWeight: 9, weigh: () => 1 },
      async (items) => {
        stream.write(`${name} ${items.join()}; `);
        if (stream.writableCorked > 0) ended += 1;
        return items;
      },
      schedule,
    );
  const [fetches, outcomes] = [batch('fetch', turn.addFetches), batch('commit', turn.addOutcomes)];
  stream.on('data', (chunk) => chunks.push(String(chunk)));
  const replies = [fetches.add(1), outcomes.add(2), outcomes.add(3), outcomes.add(4), fetches.add(5)];
  expect(await Promise.all(replies)).toEqual([1, 2, 3, 4, 5]);
  expect(chunks.join('')).toBe('commit 2,3; commit 4; fetch 1,5; ');
  expect(ended).toBe(3);
  expect(stream.writableCorked).toBe(0);
});

it('sends all that was collected, uncorks the connection and throws if a flush throws', () => {
  const stream = new PassThrough();
  const turn = new SendTurn();
  turn.use({ stream } as never);
  const immediate = vi.spyOn(globalThis, 'setImmediate').mockReturnValue(undefined as never);
  turn.addFetches(() => stream.write('fetch;'));
  turn.addOutcomes(() => {
    throw new Error('no');
  });
  turn.addOutcomes(() => stream.write('commit;'));
  const [[send] = []] = immediate.mock.calls;
  immediate.mockRestore();
  expect(send).toThrow('no');
  expect(stream.writableCorked).toBe(0);
  expect(String(stream.read())).toBe('commit;fetch;');
});
