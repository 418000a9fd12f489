import { describe, expect, it } from 'vitest';
import { type ContractHarness, contractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

const ageMs = 1_000;

/** Tests the maximum age of dead letters, with transports that have one. */
export function describeDeadLetterAge(
  name: string,
  setup: (maxDeadLetterAgeMs: number) => Promise<ContractHarness>,
): void {
  describe(`dead letters of the ${name} transport with a maximum age`, () => {
    const { consume, next, now, until, advance, counts } = contractStage(() => setup(ageMs));

    it('are evicted at it: neither listed nor counted nor replayed', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a');
      await shop.transport.publish([sent]);
      await (await next(shop)).commit(failed('no'));
      const [failure] = await shop.transport.counts.failures('a');
      // It is listed until then: the condition would hold at once.
      await until(async () => (await shop.transport.deadLetters.list('a', 9)).length === 0);
      expect((await now()) - (failure?.at ?? Number.NaN)).toBeGreaterThanOrEqual(ageMs);
      expect(await counts(shop.transport, 'a')).toMatchObject({ failed: 1, deadLetters: 0 });
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(false);
    });

    it('have none after a replay: the run keeps its checkpoints', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      let received = 1;
      for (let isReplayed = false; !isReplayed; received += 1) {
        const sent = envelope('run');
        await shop.transport.publish([sent]);
        const dead = await next(shop);
        await dead.checkpoint('pick', '1');
        const failedAt = await now();
        await dead.commit(failed('no'));
        isReplayed = await shop.transport.deadLetters.replay(sent.id);
        // A machine that stalls may replay it too late.
        if (!isReplayed) expect((await now()) - failedAt).toBeGreaterThanOrEqual(ageMs);
      }
      const replayed = await next(shop);
      await advance(ageMs + 10);
      await replayed.commit(retry(0));
      const again = await next(shop);
      expect([...again.checkpoints]).toEqual([['pick', '1']]);
      expect(await again.commit(completed())).toBe('ok');
      expect(await counts(shop.transport, 'run')).toMatchObject({ received, completed: 1, deadLetters: 0 });
    });
  });
}
