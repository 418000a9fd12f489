import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, RunWait, Subscription } from '../../delivery.js';
import type { RunRecord } from '../../event-record.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';

const runs: Subscription = { type: 'run', retainsRuns: true };

/** Returns a wait for a decision. */
function approval(key: string, delayMs?: number): RunWait {
  return { key, event: { type: 'decided', key }, isApproval: true, ...(delayMs !== undefined && { delayMs }) };
}

/** Registers the tests of the counts and lists of what runs wait for. */
export function describeWaitingRuns(stage: ContractStage): void {
  const { consume, next, advance, counts } = stage;

  async function startRun(shop: Consumption, type = 'run'): Promise<Delivery> {
    await shop.transport.publish([envelope(type)]);
    return next(shop);
  }

  async function suspend(shop: Consumption, waits: readonly RunWait[], type?: string): Promise<Envelope> {
    const delivery = await startRun(shop, type);
    await delivery.wait(waits);
    await delivery.commit(suspended(0));
    return delivery.envelope;
  }

  const idsOf = (records: readonly RunRecord[] | undefined): readonly string[] => records?.map(({ id }) => id) ?? [];

  describe('approvals', () => {
    it('are counted from the wait to the decision, the timeout or the end of the run', async () => {
      const shop = await consume([runs, 'other']);
      const approvals = async (): Promise<number | undefined> => (await counts(shop.transport, 'run')).approvals;
      expect(await approvals()).toBeUndefined();
      const decided = await suspend(shop, [approval('one'), approval('two'), { key: 'sleep', delayMs: 600_000 }]);
      const ended = await startRun(shop);
      await ended.wait([approval('four')]);
      await ended.wait([approval('four')]);
      const cancelled = await suspend(shop, [approval('five')]);
      expect(await approvals()).toBe(4);
      expect((await counts(shop.transport, 'other')).approvals).toBeUndefined();

      await shop.transport.publish([envelope('decided', { key: 'one' })]);
      expect((await next(shop)).envelope.id).toBe(decided.id);
      expect(await approvals()).toBe(3);
      const expired = await suspend(shop, [approval('three', 100)]);
      await advance(150);
      expect((await next(shop)).envelope.id).toBe(expired.id);
      expect(await approvals()).toBe(3);
      await ended.commit(completed());
      expect(await approvals()).toBe(2);
      await shop.transport.runs.end('run', cancelled.id, failed('cancelled'), new Error('cancelled'));
      expect(await approvals()).toBe(1);
      await shop.transport.publish([envelope('decided', { key: 'two' })]);
      expect(await approvals()).toBeUndefined();
    });
  });

  describe('runs that wait', () => {
    it('are listed over all services, those with the oldest approvals first', async () => {
      const shop = await consume([runs, { type: 'sleepy', retainsRuns: true }, 'plain']);
      const other = await consume([runs], { service: 'other' });
      const asleep = await suspend(shop, [{ key: 'sleep', delayMs: 600_000 }]);
      // Both services have the event, with one id.
      await next(other);
      const first = await suspend(shop, [approval('a')]);
      await next(other);
      await advance(5);
      const second = await startRun(shop);
      await second.wait([approval('b'), approval('c')]);
      const elsewhere = await next(other);
      await elsewhere.wait([{ key: 'reply', event: { type: 'reply', key: undefined } }]);
      await elsewhere.commit(suspended(0));
      const sleepy = await suspend(shop, [{ key: 'sleep', delayMs: 600_000 }], 'sleepy');

      const [waiting = [], ofSleepy, ofPlain] = await shop.transport.runs.waiting(['run', 'sleepy', 'plain'], 9);
      expect(idsOf(waiting.slice(0, 2))).toEqual([first.id, second.envelope.id]);
      expect(waiting.slice(2).map(({ id, service }) => [id, service])).toEqual(
        expect.arrayContaining([
          [asleep.id, shop.transport.service],
          [elsewhere.envelope.id, 'other'],
        ]),
      );
      expect(waiting).toHaveLength(4);
      expect(waiting[0]).toMatchObject({ status: 'suspended', waits: [{ key: 'a', event: { type: 'decided' } }] });
      expect(waiting[1]).toMatchObject({ status: 'active', waits: [{ key: 'b' }, { key: 'c' }] });
      expect(idsOf(ofSleepy)).toEqual([sleepy.id]);
      expect(ofPlain).toEqual([]);
      const [limited] = await other.transport.runs.waiting(['run'], 2);
      expect(idsOf(limited)).toEqual([first.id, second.envelope.id]);
    });
  });
}
