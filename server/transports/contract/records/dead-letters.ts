import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { DeadLetterFilter } from '../../event-record.js';
import type { TransportManager } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

/** Value of `maxDeadLetters` for the transport under test. */
export const maxDeadLetters = 3;

/** Tests dead letters and their replay. */
export function describeDeadLetters({ connect, consume, next, advance, counts, now }: ContractStage): void {
  async function failOne(shop: Consumption, type: string, message = 'no'): Promise<string> {
    const sent = envelope(type);
    await shop.transport.publish([sent]);
    await (await next(shop)).commit(failed(message));
    return sent.id;
  }

  async function deadLetterIds(transport: TransportManager, type: string): Promise<string[]> {
    return (await transport.deadLetters.list(type, 100)).map(({ envelope: { id } }) => id);
  }

  describe('dead letters', () => {
    it('are the failed events with their whole envelope, newest first', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a', { body: '{"text":"日本 \\u0000"}', requestId: 'r-1', depth: 3, priority: 7 });
      await shop.transport.publish([sent]);
      await (await next(shop)).commit(retry(0));
      await (await next(shop)).commit(failed('broken'));
      const later = await failOne(shop, 'a');
      const [, first] = await shop.transport.deadLetters.list('a', 100);
      expect(first).toMatchObject({ envelope: sent, attempt: 2, error: { name: 'Error', message: 'broken' } });
      expect(first?.at).toBe((await shop.transport.counts.failures('a')).at(-1)?.at);
      expect(await deadLetterIds(shop.transport, 'a')).toEqual([later, sent.id]);
      expect(await shop.transport.deadLetters.list('a', 1)).toMatchObject([{ envelope: { id: later } }]);
      expect(await shop.transport.deadLetters.list('b', 100)).toEqual([]);
    });

    it('have their errors listed over all services, without payloads', async () => {
      const [shop, mail] = [await consume(['a']), await consume(['a'], { service: 'mail' })];
      const { transport } = shop;
      const sent = [envelope('a', { requestId: 'r-1' }), envelope('a', { requestId: 'r-2' })];
      for (const each of sent) {
        await transport.publish([each]);
        for (const one of [shop, mail]) {
          await (await next(one)).commit(retry(0));
          await (await next(one)).commit(failed(`no of ${one.transport.service}`));
        }
      }
      const [first, second] = sent.map(({ id }) => id);
      const letters = await transport.lookup.deadLetterErrors('a', 10);
      expect(letters.map(({ id, service, requestId }) => [id, service, requestId]).toSorted()).toEqual(
        [
          [first, 'mail', 'r-1'],
          [first, 'shop', 'r-1'],
          [second, 'mail', 'r-2'],
          [second, 'shop', 'r-2'],
        ].toSorted(),
      );
      const [own] = await transport.deadLetters.list('a', 1);
      const { envelope: newest, at, attempt, error } = own ?? {};
      expect(letters).toContainEqual({ id: newest?.id, service: 'shop', requestId: 'r-2', at, attempt, error });
      expect((await transport.lookup.deadLetterErrors('a', 3)).map(({ id }) => id)).toContain(second);
      await transport.deadLetters.replay(first ?? '');
      expect(await transport.lookup.deadLetterErrors('a', 10)).toHaveLength(3);
      expect(await transport.lookup.deadLetterErrors('b', 10)).toEqual([]);
    });

    it('are limited per type: the oldest is evicted', async () => {
      const shop = await consume(['a', 'b']);
      const other = await failOne(shop, 'b');
      const ids: string[] = [];
      for (let i = 0; i < maxDeadLetters + 2; i += 1) ids.unshift(await failOne(shop, 'a'));
      expect(await deadLetterIds(shop.transport, 'a')).toEqual(ids.slice(0, maxDeadLetters));
      expect(await deadLetterIds(shop.transport, 'b')).toEqual([other]);
      expect(await shop.transport.deadLetters.replay(ids.at(-1) ?? '')).toBe(false);
    });

    it('are listed completely if they are large', async () => {
      const shop = await consume(['a']);
      const { transport } = shop;
      const body = JSON.stringify('x'.repeat(600_000));
      for (let n = 0; n < 3; n += 1) {
        await transport.publish([envelope('a', { requestId: 'r-1', body })]);
        await (await next(shop)).commit(failed('no'));
      }
      const ids = (await transport.deadLetters.list('a', 9)).map(({ envelope: { id } }) => id);
      expect(new Set(ids).size).toBe(3);
      for (const filter of [{}, { requestId: 'r-1' }]) {
        const all = await transport.deadLetters.list('a', 9, filter);
        expect(all.map(({ envelope: { id } }) => id)).toEqual(ids);
        expect(all.every(({ envelope: dead }) => dead.body === body)).toBe(true);
        const two = await transport.deadLetters.list('a', 2, filter);
        expect(two.map(({ envelope: { id } }) => id)).toEqual(ids.slice(0, 2));
      }
      expect(await transport.deadLetters.replay(ids[0] ?? '')).toBe(true);
    });

    it('run again after a replay: the same event, accepted again, at its first attempt', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a', { body: '[1]', requestId: 'r-1', depth: 3, delayMs: 40 });
      await shop.transport.publish([sent]);
      await (await next(shop)).commit(retry(0));
      const dead = await next(shop);
      await dead.commit(failed('no'));
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(true);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, failed: 1, pending: 1 });
      expect(await deadLetterIds(shop.transport, 'a')).toEqual([]);
      const replayed = await next(shop);
      expect(replayed).toMatchObject({ attempt: 1, envelope: { ...sent, replays: 1 } });
      expect(await dead.commit(completed())).not.toBe('ok');
      expect(await replayed.commit(completed())).toBe('ok');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(false);
    });

    it('are replayed once by any number of concurrent calls', async () => {
      const shop = await consume(['a']);
      const id = await failOne(shop, 'a');
      const managers = [shop.transport, connect('shop'), connect('shop')];
      const tries = await Promise.all([...managers, ...managers].map((manager) => manager.deadLetters.replay(id)));
      expect(tries.filter((isReplayed) => isReplayed)).toHaveLength(1);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, failed: 1, pending: 1 });
    });

    it('become dead letters again if they fail again', async () => {
      const shop = await consume(['a']);
      const id = await failOne(shop, 'a');
      await shop.transport.deadLetters.replay(id);
      await (await next(shop)).commit(failed('still'));
      expect(await shop.transport.deadLetters.list('a', 9)).toMatchObject([
        { envelope: { id, replays: 1 }, error: { message: 'still' } },
      ]);
      expect(await shop.transport.deadLetters.replay(id)).toBe(true);
      expect((await next(shop)).envelope.replays).toBe(2);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, failed: 2, pending: 1 });
    });

    it('belong to their service: no other service lists, replays or receives them', async () => {
      const triggered: Subscription = { type: 'run', retainsRuns: true, triggers: ['a'] };
      const shop = await consume(['a', triggered]);
      const mail = await consume(['a'], { service: 'mail' });
      const sent = envelope('a');
      await shop.transport.publish([sent]);
      for (const consumption of [shop, shop, mail]) {
        const delivery = await next(consumption);
        const isDead = consumption === shop && delivery.envelope.type === 'a';
        await delivery.commit(isDead ? failed('no') : completed());
      }
      expect(await mail.transport.deadLetters.list('a', 9)).toEqual([]);
      expect(await mail.transport.deadLetters.replay(sent.id)).toBe(false);
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(true);
      expect((await next(shop)).envelope).toMatchObject({ id: sent.id, type: 'a' });
      await advance(20);
      expect([...shop.waiting, ...mail.waiting]).toEqual([]);
    });

    it('of another service are listed and replayed by its name', async () => {
      const shop = await consume(['a']);
      const mail = await consume(['a'], { service: 'mail' });
      const sent = envelope('a');
      await shop.transport.publish([sent]);
      await (await next(shop)).commit(failed('no'));
      await (await next(mail)).commit(failed('no'));
      const { deadLetters } = connect('web');
      expect(await deadLetters.list('a', 9)).toEqual([]);
      expect(await deadLetters.list('a', 9, { service: 'nobody' })).toEqual([]);
      expect(await deadLetters.list('a', 9, { service: 'mail' })).toMatchObject([{ envelope: { id: sent.id } }]);
      expect(await deadLetters.replay(sent.id, 'nobody')).toBe(false);
      expect(await deadLetters.replay(sent.id, 'mail')).toBe(true);
      expect((await next(mail)).envelope).toMatchObject({ id: sent.id, replays: 1 });
      expect(shop.waiting).toEqual([]);
      expect(await deadLetterIds(shop.transport, 'a')).toEqual([sent.id]);
    });

    it('are listed up to a time, however many failed later', async () => {
      const shop = await consume(['a']);
      const { deadLetters } = shop.transport;
      const early = [await failOne(shop, 'a'), await failOne(shop, 'a')].reverse();
      const until = await now();
      await advance(5);
      const late = await failOne(shop, 'a');
      const listed = async (limit: number, filter?: DeadLetterFilter): Promise<string[]> =>
        (await deadLetters.list('a', limit, filter)).map(({ envelope: { id } }) => id);
      expect(await listed(9)).toEqual([late, ...early]);
      expect(await listed(9, { until })).toEqual(early);
      expect(await listed(1, { until })).toEqual(early.slice(0, 1));
      expect(await listed(2, { until })).toEqual(early);
      expect(await listed(2, { until: until - 60_000 })).toEqual([]);
    });

    it('wait after a replay for a connection that handles their type', async () => {
      const before = await consume(['a', 'dropped']);
      const id = await failOne(before, 'dropped');
      await before.transport.close({ drainMs: 0 });
      const after = await consume(['a']);
      expect(await after.transport.deadLetters.replay(id)).toBe(true);
      expect(await counts(after.transport, 'dropped')).toMatchObject({ received: 2, failed: 1, pending: 1 });
      const again = await consume(['dropped']);
      expect((await next(again)).envelope).toMatchObject({ id, replays: 1 });
      expect(after.waiting).toEqual([]);
    });

    it('are replayed to the current worker queue of their type', async () => {
      const before = await consume(['a']);
      const id = await failOne(before, 'a');
      await before.transport.close({ drainMs: 0 });
      const after = await consume([{ type: 'a', concurrency: 1 }]);
      await after.transport.publish([envelope('a')]);
      const running = await next(after);
      await after.transport.deadLetters.replay(id);
      await advance(20);
      expect(after.waiting).toEqual([]);
      await running.commit(completed());
      expect((await next(after)).envelope.id).toBe(id);
    });
  });

  describe('dead letters of runs', () => {
    const runs: Subscription = { type: 'run', retainsRuns: true };

    it('resume after their checkpoints, even if their run was evicted', async () => {
      const shop = await consume([{ ...runs, retain: { completed: 50, failed: 0 } }]);
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      const dead = await next(shop);
      await dead.checkpoint('pick', '1');
      await dead.checkpoint('pack', '2');
      await dead.commit(failed('no'));
      for (let i = 0; i < 60; i += 1) {
        await shop.transport.publish([envelope('run')]);
        await (await next(shop)).commit(completed());
      }
      expect(await shop.transport.runs.get('run', sent.id)).toBeUndefined();
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(true);
      const replayed = await next(shop);
      expect([...replayed.checkpoints]).toEqual([
        ['pick', '1'],
        ['pack', '2'],
      ]);
      expect(await dead.checkpoint('ship', 'late')).toBe('fenced');
      expect(await replayed.checkpoint('ship', '3')).toBe('ok');
    });

    it('continue the failed run after a replay', async () => {
      const shop = await consume([runs]);
      const id = await failOne(shop, 'run');
      const { signal } = new AbortController();
      expect(await shop.transport.runs.ended('run', id, signal)).toMatchObject({ status: 'failed' });
      await advance(5);
      await shop.transport.deadLetters.replay(id);
      const replayed = await next(shop);
      const again = await shop.transport.runs.get('run', id);
      expect(again).toMatchObject({ status: 'active', attempt: 1, endedAt: undefined, error: undefined });
      const ended = shop.transport.runs.ended('run', id, signal);
      await replayed.commit({ ...completed(), result: '7' });
      expect(await ended).toMatchObject({ status: 'completed', result: '7' });
      const query = { types: [], runTypes: ['run'], runLimit: 9 };
      expect((await shop.transport.lookup.overview(query)).runs).toMatchObject([[{ id, status: 'completed' }]]);
    });

    it('do not exist for a run that was ended from outside', async () => {
      const shop = await consume([runs]);
      const sent = envelope('run', { delayMs: 60_000 });
      await shop.transport.publish([sent]);
      await shop.transport.runs.end('run', sent.id, failed('cancelled'), new Error('cancelled'));
      expect(await shop.transport.deadLetters.list('run', 9)).toEqual([]);
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(false);
    });
  });
}
