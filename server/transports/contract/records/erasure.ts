import { describe, expect, it } from 'vitest';
import type { Outcome, Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';

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
  });
}
