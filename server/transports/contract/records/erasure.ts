import { describe, expect, it } from 'vitest';
import type { LogBounds } from '../../bounded-log.js';
import type { Outcome, Subscription } from '../../delivery.js';
import { runLogs } from '../../stored-keys.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';

const bounds: LogBounds = { maxEntries: 9, maxBytes: 9_999, maxAgeMs: 3_600_000 };

/** Tests the erasure of the payloads of a request. */
export function describeErasure({ consume, next }: ContractStage): void {
  const runs: Subscription = { type: 'run', retainsRuns: true };

  async function end(shop: Consumption, outcome: Outcome): Promise<void> {
    await (await next(shop)).commit(outcome);
  }

  describe('an erasure', () => {
    it('removes the payloads of ended events of one request, and keeps their counts', async () => {
      const shop = await consume(['a', runs]);
      const mail = await consume(['a'], { service: 'mail' });
      const { transport } = shop;
      const [event, run, other] = [
        envelope('a', { requestId: 'r-1', body: '"private"' }),
        envelope('run', { requestId: 'r-1', body: '"private"' }),
        envelope('run', { requestId: 'r-2', body: '"kept"' }),
      ];
      await transport.publish([event]);
      await end(shop, failed('no'));
      await end(mail, failed('no'));
      await transport.publish([run]);
      const running = await next(shop);
      await running.checkpoint('pick', '{"output":"private"}');
      expect(await transport.lookup.erase('r-1')).toEqual({ deadLetters: 2, runs: 0, pending: 1 });
      await running.commit({ ...completed(), result: '"private"' });
      await transport.publish([other]);
      await end(shop, { ...completed(), result: '"kept"' });
      const counts = await transport.counts.get(['a', 'run']);
      expect(await transport.lookup.erase('r-1')).toEqual({ deadLetters: 0, runs: 1, pending: 0 });
      expect(await transport.counts.get(['a', 'run'])).toEqual(counts);
      expect(await transport.deadLetters.replay(event.id)).toBe(false);
      const { events } = await transport.lookup.request('r-1');
      expect(events.map(({ status, isDeadLetter }) => [status, isDeadLetter])).toEqual(
        expect.arrayContaining([
          ['failed', false],
          ['completed', false],
        ]),
      );
      const everything = [
        ...(await transport.lookup.find(event.id, { bodies: true })),
        ...(await transport.lookup.find(run.id, { bodies: true })),
      ];
      expect(JSON.stringify([everything, events, await transport.runs.get('run', run.id)])).not.toContain('private');
      expect(await transport.runs.get('run', run.id)).toMatchObject({ status: 'completed', result: undefined });
      expect(await transport.runs.get('run', other.id)).toMatchObject({
        result: '"kept"',
        envelope: { body: '"kept"' },
      });
    });

    it('removes the logs of ended runs and events of one request', async () => {
      const shop = await consume(['a', runs]);
      const { log, lookup } = shop.transport;
      const ended = [envelope('a', { requestId: 'r-1' }), envelope('run', { requestId: 'r-1' })];
      const others = [envelope('run', { requestId: 'r-2', id: 'é % /' }), envelope('run', { requestId: 'r-1' })];
      for (const event of [...ended, ...others]) {
        for (const name of runLogs('shop', event.id)) await log.append(name, ['"private"'], bounds);
        await shop.transport.publish([event]);
        const delivery = await next(shop);
        if (event !== others[1]) await delivery.commit(completed());
      }
      expect(await lookup.erase('r-1')).toEqual({ deadLetters: 0, runs: 1, pending: 1 });
      const sizeOf = async (name: string): Promise<number> => (await log.read(name)).next;
      const sizes = [...ended, ...others].flatMap(({ id }) => runLogs('shop', id).map(sizeOf));
      expect(await Promise.all(sizes)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
      await lookup.erase('r-2');
      expect(await Promise.all(runLogs('shop', 'é % /').map(sizeOf))).toEqual([0, 0]);
    });
  });
}
