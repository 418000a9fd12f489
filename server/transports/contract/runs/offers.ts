import { describe, expect, it } from 'vitest';
import type { CommitResult, Delivery, Envelope, Offer, RunWait, Verdict } from '../../delivery.js';
import { maxKeptEvents } from '../../limits.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';
import { createRunStage, resolution, runs } from './run-stage.js';

const taken: Verdict = { status: 'taken' };
const refused: Verdict = { status: 'refused' };

/** Tests the events about which the service of a run decides. */
export function describeOffers(stage: ContractStage): void {
  const { advance, consume, counts, next, until } = stage;
  const { startRun } = createRunStage(stage);
  const receives = [{ type: 'paid', key: 'o-1' }];
  const paid = (n: number, fields: Partial<Envelope> = {}): Envelope =>
    envelope('paid', { key: 'o-1', body: `{"n":${n}}`, ...fields });
  const judged = (key: string, fields: Partial<RunWait> = {}): RunWait => ({
    key,
    event: { type: 'paid', key: 'o-1' },
    isJudged: true,
    ...fields,
  });
  const plain = (key: string): RunWait => judged(key, { isJudged: false });
  const numberOf = ({ body }: Offer): number => (JSON.parse(body) as { n: number }).n;
  const shown = ({ offers }: Delivery): string[] =>
    offers.map((offer) => `${offer.wait ?? 'cancel'} ${numberOf(offer)}`).sort();
  /** Waits for the offers, each as the key of the wait and the number of the event. */
  const untilOffered = (delivery: Delivery, ...expected: string[]): Promise<void> =>
    until(() => JSON.stringify(shown(delivery)) === JSON.stringify(expected.sort()));
  const decide = async (delivery: Delivery, wait: string | undefined, verdict: Verdict): Promise<CommitResult> => {
    const offer = delivery.offers.find((each) => each.wait === wait);
    if (offer === undefined) throw new Error(`no offer to ${wait}`);
    return delivery.decide(offer, verdict);
  };
  const publish = async (shop: Consumption, ...events: readonly Envelope[]): Promise<void> => {
    for (const each of events) await shop.transport.publish([each]);
  };
  const recorded = (delivery: Delivery): Map<string, string> => {
    const found = new Map(delivery.checkpoints);
    delivery.onRecorded = (key, value) => found.set(key, value);
    return found;
  };
  const keptOf = async (shop: Consumption, { envelope: { id } }: Delivery): Promise<number | undefined> =>
    (await shop.transport.runs.get('run', id))?.inbox?.kept;

  describe('a wait that is judged', () => {
    it.each([
      ['passes others over', {}, 0],
      ['leaves others to later waits of a run that receives them', { receives }, 2],
    ])('resolves with the event that its service takes, and %s', async (_, fields, left) => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, fields);
      const checkpoints = recorded(delivery);
      await delivery.wait([judged('first')]);
      const sent = [paid(1), paid(2), paid(3)];
      expect(await shop.transport.publish([paid(0, { key: 'o-2' })])).toMatchObject([{ unsubscribed: true }]);
      expect(await shop.transport.publish(sent.slice(0, 1))).toEqual([{ id: sent[0]?.id, deduplicated: false }]);
      await publish(shop, ...sent.slice(1));
      await untilOffered(delivery, 'first 1');
      expect(checkpoints.size).toBe(0);
      expect(await decide(delivery, 'first', refused)).toBe('ok');
      await untilOffered(delivery, 'first 2');
      expect(await decide(delivery, 'first', taken)).toBe('ok');
      await until(() => checkpoints.has('first'));
      expect(resolution({ checkpoints }, 'first')).toEqual({ by: 'event', id: sent[1]?.id, payload: { n: 2 } });
      await untilOffered(delivery);
      expect(await keptOf(shop, delivery)).toBe(left);

      await delivery.wait([plain('second')]);
      if (left === 0) await publish(shop, paid(1));
      await until(() => checkpoints.has('second'));
      expect(resolution({ checkpoints }, 'second')).toMatchObject({ payload: { n: 1 } });
      expect(await counts(shop.transport, 'paid')).toMatchObject({ pending: 0 });
    });

    it('resumes a suspended run for an offer, and does not suspend it before the verdict', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([judged('first')]);
      await delivery.commit(suspended(0));
      await publish(shop, paid(1));
      const resumed = await next(shop);
      await untilOffered(resumed, 'first 1');
      expect(resumed.checkpoints.size).toBe(0);
      await resumed.commit(suspended(0));
      const again = await next(shop);
      await untilOffered(again, 'first 1');
      await decide(again, 'first', refused);
      await again.commit(suspended(0));
      await advance(20);
      expect(shop.waiting).toEqual([]);
      await publish(shop, paid(2));
      const last = await next(shop);
      await untilOffered(last, 'first 2');
      await decide(last, 'first', taken);
      await last.commit(suspended(0));
      expect(resolution(await next(shop), 'first')).toMatchObject({ payload: { n: 2 } });
    });

    it('keeps its offers and the verdicts when the process with the run dies', async () => {
      const first = await consume([runs]);
      const delivery = await startRun(first);
      await delivery.wait([judged('first')]);
      await publish(first, paid(1), paid(2));
      await untilOffered(delivery, 'first 1');
      await decide(delivery, 'first', refused);
      await first.transport.close({ drainMs: 0 });
      const second = await consume([runs]);
      const redelivered = await next(second);
      await untilOffered(redelivered, 'first 2');
      await decide(redelivered, 'first', taken);
      await redelivered.commit(suspended(0));
      expect(resolution(await next(second), 'first')).toMatchObject({ payload: { n: 2 } });
    });

    it('decides beside others about one event, which a plain wait takes at once', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      const checkpoints = recorded(delivery);
      await delivery.wait([judged('first'), judged('second'), plain('third')]);
      await publish(shop, paid(1));
      await until(() => checkpoints.has('third'));
      await untilOffered(delivery, 'first 1', 'second 1');
      await decide(delivery, 'first', taken);
      await untilOffered(delivery, 'second 1');
      await decide(delivery, 'second', refused);
      await publish(shop, paid(2));
      await untilOffered(delivery, 'second 2');
      await decide(delivery, 'second', taken);
      await until(() => checkpoints.size === 3);
      expect(resolution({ checkpoints }, 'first')).toMatchObject({ payload: { n: 1 } });
      expect(resolution({ checkpoints }, 'second')).toMatchObject({ payload: { n: 2 } });
      expect(await keptOf(shop, delivery)).toBe(0);
    });

    it('lets the next wait of a run that receives the event decide after it', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      const checkpoints = recorded(delivery);
      await delivery.wait([judged('a')]);
      await delivery.wait([judged('b')]);
      await delivery.wait([plain('c')]);
      await publish(shop, paid(1), paid(2));
      await untilOffered(delivery, 'a 1');
      await decide(delivery, 'a', refused);
      await untilOffered(delivery, 'a 2', 'b 1');
      await decide(delivery, 'b', refused);
      await until(() => checkpoints.has('c'));
      expect(resolution({ checkpoints }, 'c')).toMatchObject({ payload: { n: 1 } });
      await untilOffered(delivery, 'a 2');
      await decide(delivery, 'a', taken);
      await until(() => checkpoints.has('a'));
      await publish(shop, paid(3));
      await untilOffered(delivery, 'b 3');
    });

    it('resolves by time, after which nothing is offered to it', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      const checkpoints = recorded(delivery);
      await delivery.wait([judged('first', { delayMs: 2_000 })]);
      await publish(shop, paid(1));
      await untilOffered(delivery, 'first 1');
      const [offer] = delivery.offers;
      await until(() => checkpoints.has('first'));
      expect(resolution({ checkpoints }, 'first')).toEqual({ by: 'time' });
      expect(offer && (await delivery.decide(offer, taken))).toBe('already');
      await untilOffered(delivery);
      expect(await keptOf(shop, delivery)).toBe(0);
    });

    it('records a failure in place of its resolution', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      const checkpoints = recorded(delivery);
      await delivery.wait([judged('first')]);
      await publish(shop, paid(1));
      await untilOffered(delivery, 'first 1');
      const entry = '{"attempt":1,"error":{"name":"Error","message":"no"}}';
      expect(await decide(delivery, 'first', { status: 'failed', entry })).toBe('ok');
      await until(() => checkpoints.has('first'));
      expect(checkpoints.get('first')).toBe(entry);
      const record = await shop.transport.runs.get('run', delivery.envelope.id);
      expect([record?.waits, record?.inbox]).toEqual([[], { kept: 0, dropped: 0 }]);
    });

    it('loses the offers of an erased request, and those beyond the bound', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([judged('first')]);
      await publish(shop, paid(1, { requestId: 'private' }), paid(2));
      await untilOffered(delivery, 'first 1');
      await shop.transport.lookup.erase('private');
      await untilOffered(delivery, 'first 2');
      const many = Array.from({ length: maxKeptEvents }, (_, n) => paid(n + 3));
      for (let from = 0; from < many.length; from += 250) await shop.transport.publish(many.slice(from, from + 250));
      await untilOffered(delivery, 'first 3');
      const record = await shop.transport.runs.get('run', delivery.envelope.id);
      expect(record?.inbox).toEqual({ kept: maxKeptEvents, dropped: 1 });
      await delivery.commit(completed());
      expect((await shop.transport.runs.get('run', delivery.envelope.id))?.inbox).toBeUndefined();
    });

    it('has no verdict from a delivery that lost its lease', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([judged('first')]);
      await publish(shop, paid(1));
      await untilOffered(delivery, 'first 1');
      const [offer] = delivery.offers;
      await delivery.commit(suspended(0));
      const again = await next(shop);
      expect(offer && (await delivery.decide(offer, taken))).toBe('fenced');
      await untilOffered(again, 'first 1');
    });
  });

  describe('a reason to cancel a run', () => {
    const cancelOn = [
      { type: 'paid', key: 'o-1' },
      { type: 'stopped', key: undefined, isJudged: true },
    ];

    it('is an offer to a run that waits, runs or is suspended', async () => {
      const shop = await consume([runs], { concurrency: 1 });
      const [running, waiting] = [envelope('run', { cancelOn }), envelope('run', { cancelOn })];
      await publish(shop, running, waiting);
      const delivery = await next(shop);
      const sent = paid(1);
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      await untilOffered(delivery, 'cancel 1');
      expect(delivery.offers).toMatchObject([{ id: sent.id, type: 'paid', isJudged: false }]);
      await decide(delivery, undefined, refused);
      await untilOffered(delivery);
      await delivery.wait([{ key: 'go', event: { type: 'go', key: undefined } }]);
      await delivery.commit(suspended(0));
      const second = await next(shop);
      expect(second.envelope.id).toBe(waiting.id);
      await untilOffered(second, 'cancel 1');
      await second.commit(completed());
      await publish(shop, envelope('stopped', { body: '{"n":2}' }));
      const resumed = await next(shop);
      expect(resumed.envelope.id).toBe(running.id);
      await untilOffered(resumed, 'cancel 2');
      expect(resumed.offers).toMatchObject([{ type: 'stopped', isJudged: true }]);
    });

    it('is known to the delivery when the verdict on the one before is recorded', async () => {
      const web = await consume([], { service: 'web' });
      await publish(web, envelope('run', { service: 'shop', cancelOn }), paid(1), paid(2), paid(3));
      const delivery = await next(await consume([runs]));
      for (const n of [1, 2, 3]) {
        expect(shown(delivery)).toEqual([`cancel ${n}`]);
        await decide(delivery, undefined, refused);
      }
      expect(delivery.offers).toEqual([]);
    });

    it('is one besides the wait that takes the event', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { cancelOn, receives });
      const checkpoints = recorded(delivery);
      await delivery.wait([plain('first')]);
      await publish(shop, paid(1));
      await until(() => checkpoints.has('first'));
      await untilOffered(delivery, 'cancel 1');
      await decide(delivery, undefined, refused);
      await delivery.wait([plain('second')]);
      await untilOffered(delivery);
      expect(checkpoints.has('second')).toBe(false);
      expect(await keptOf(shop, delivery)).toBe(0);
    });

    it('holds for a run that is replayed, and for one of a service that has yet to start', async () => {
      const web = await consume([], { service: 'web' });
      await publish(web, envelope('run', { service: 'shop', cancelOn }), paid(1));
      const shop = await consume([runs]);
      const delivery = await next(shop);
      await untilOffered(delivery, 'cancel 1');
      await delivery.commit(failed('no'));
      expect(await shop.transport.deadLetters.replay(delivery.envelope.id)).toBe(true);
      const again = await next(shop);
      expect(again.offers).toEqual([]);
      await publish(web, paid(2));
      await untilOffered(again, 'cancel 2');
    });
  });
}
