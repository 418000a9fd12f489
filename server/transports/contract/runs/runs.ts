import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import { triggeredId } from '../../derived-ids.js';
import type { Overview } from '../../transport.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';

/** Tests types with `retainsRuns`: checkpoints, records, endings, triggers. */
export function describeRuns({ advance, consume, counts, inTime, next, until }: ContractStage): void {
  describe('runs', () => {
    const runs: Subscription = { type: 'run', retainsRuns: true };
    const cancelled = new Error('cancelled');

    it('retain checkpoints for later deliveries', async () => {
      const shop = await consume([runs]);
      await shop.transport.publish([envelope('run')]);
      const first = await next(shop);
      expect([...first.checkpoints]).toEqual([]);
      expect(await first.checkpoint('pick', '1')).toBe('ok');
      expect(await first.checkpoint('pick', '2')).toBe('already');
      expect(await first.checkpoint('__proto__', '3')).toBe('ok');
      await first.commit(retry(10));
      expect(await first.checkpoint('pick', '1')).toBe('fenced');
      expect(await first.checkpoint('ship', '4')).toBe('fenced');
      const second = await next(shop);
      expect([...second.checkpoints]).toEqual([
        ['pick', '1'],
        ['__proto__', '3'],
      ]);
    });

    it('refuse a checkpoint from a delivery that lost its lease', async () => {
      const one = await consume([runs]);
      await one.transport.publish([envelope('run')]);
      const interrupted = await next(one);
      await interrupted.checkpoint('pick', '1');
      await one.transport.close({ drainMs: 0 });
      const two = await consume([runs]);
      const resumed = await next(two);
      expect(await interrupted.checkpoint('ship', 'late')).toBe('fenced');
      expect([...resumed.checkpoints]).toEqual([['pick', '1']]);
      expect(await resumed.checkpoint('ship', '2')).toBe('ok');
      expect(await interrupted.checkpoint('ship', 'late')).toBe('fenced');
      expect(await interrupted.checkpoint('pick', '1')).toBe('fenced');
      expect(await resumed.checkpoint('ship', '2')).toBe('already');
      expect(await resumed.checkpoint('pick', '1')).toBe('fenced');
      await resumed.commit(completed());
      expect(await resumed.checkpoint('more', '3')).toBe('fenced');
    });

    it('have a record from acceptance to outcome', async () => {
      const shop = await consume([runs, 'a']);
      const sent = envelope('run', { body: '{"order":1}' });
      await shop.transport.publish([sent]);
      const delivery = await next(shop);
      await delivery.checkpoint('pick', '1');
      expect(await shop.transport.runs.get('run', sent.id)).toMatchObject({
        id: sent.id,
        service: 'shop',
        envelope: { body: '{"order":1}' },
        status: 'active',
        attempt: 1,
        checkpoints: new Map([['pick', '1']]),
        endedAt: undefined,
      });
      await delivery.commit(retry(30));
      await (await next(shop)).commit({ ...completed(), result: '"done"' });
      const ended = await shop.transport.runs.get('run', sent.id);
      expect(ended).toMatchObject({ status: 'completed', result: '"done"', error: undefined });
      expect(ended?.endedAt).toBeGreaterThanOrEqual(ended?.acceptedAt ?? Number.NaN);
      expect(await shop.transport.runs.get('run', 'unknown')).toBeUndefined();
    });

    it('wait for their retry with the next attempt', async () => {
      const shop = await consume([runs]);
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      await (await next(shop)).commit(retry(60_000));
      expect(await shop.transport.runs.get('run', sent.id)).toMatchObject({ status: 'waiting', attempt: 2 });
    });

    it('are listed newest first, over all services', async () => {
      const shop = await consume([runs]);
      const mail = await consume([runs], { service: 'mail' });
      for (let i = 0; i < 3; i += 1) {
        await shop.transport.publish([envelope('run')]);
        await advance(5);
      }
      await (await next(mail)).commit(failed('no'));
      const latestRuns = async (runTypes: string[], runLimit: number): Promise<Overview['runs']> =>
        (await shop.transport.lookup.overview({ types: [], runTypes, runLimit })).runs;
      const [latest, none] = await latestRuns(['run', 'other'], 4);
      expect(latest).toHaveLength(4);
      expect(none).toEqual([]);
      const times = (latest ?? []).map(({ acceptedAt }) => acceptedAt);
      expect(times).toEqual([...times].sort((a, b) => b - a));
      const [all] = await latestRuns(['run'], 50);
      expect(all?.filter(({ service }) => service === 'mail')).toHaveLength(3);
      expect(all?.find(({ status }) => status === 'failed')).toMatchObject({
        service: 'mail',
        error: { message: 'no' },
      });
    });

    it('resolve runEnded with their result', async () => {
      const shop = await consume([runs]);
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      const { signal } = new AbortController();
      const ended = shop.transport.runs.ended('run', sent.id, signal);
      await (await next(shop)).commit({ ...completed(), result: '7' });
      await until(() => true);
      expect(await ended).toMatchObject({ status: 'completed', result: '7' });
      expect(await shop.transport.runs.ended('run', sent.id, signal)).toMatchObject({ status: 'completed' });
      expect(await shop.transport.runs.ended('run', 'unknown', signal)).toBeUndefined();
    });

    it.each([
      ['the default number of runs', undefined],
      ['no run', { completed: 0, failed: 0 }],
    ])('resolve runEnded of 200 runs that end at once if the type retains %s', async (_, retain) => {
      const shop = await consume([{ ...runs, ...(retain && { retain }) }], { concurrency: 200 });
      const sent = Array.from({ length: 200 }, () => envelope('run'));
      await shop.transport.publish(sent);
      const { signal } = new AbortController();
      setMaxListeners(0, signal);
      const ended = sent.map(({ id }) => shop.transport.runs.ended('run', id, signal));
      await until(() => shop.waiting.length === 200);
      const commits = shop.waiting
        .splice(0)
        .map((delivery) => delivery.commit({ ...completed(), result: `"${delivery.envelope.id}"` }));
      expect(new Set(await Promise.all(commits))).toEqual(new Set(['ok']));
      const results = (await Promise.all(ended)).map((run) => run?.result);
      expect(results).toEqual(sent.map(({ id }) => `"${id}"`));
    });

    it('resolve runEnded of 2,000 runs that are ended from outside at once', async () => {
      const shop = await consume([runs]);
      const sent = Array.from({ length: 2_000 }, () => envelope('run', { delayMs: 600_000 }));
      for (let from = 0; from < 2_000; from += 250) await shop.transport.publish(sent.slice(from, from + 250));
      const { signal } = new AbortController();
      setMaxListeners(0, signal);
      const ended = sent.map(({ id }) => shop.transport.runs.ended('run', id, signal));
      for (let from = 0; from < 2_000; from += 500) {
        const ends = sent
          .slice(from, from + 500)
          .map(({ id }) => shop.transport.runs.end('run', id, failed(id), cancelled));
        expect(new Set(await Promise.all(ends))).toEqual(new Set(['ok']));
      }
      const messages = (await Promise.all(ended)).map((run) => run?.error?.message);
      expect(messages).toEqual(sent.map(({ id }) => id));
    });

    it('resolve runEnded for callers in other connections', async () => {
      const shop = await consume([runs]);
      const other = await consume([runs], { concurrency: 1 });
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      const { signal } = new AbortController();
      const ended = [shop, other].map(({ transport }) => transport.runs.ended('run', sent.id, signal));
      await until(() => shop.waiting.length + other.waiting.length > 0);
      await (shop.waiting.length > 0 ? shop : other).shift().commit({ ...completed(), result: '7' });
      expect(await Promise.all(ended)).toMatchObject([{ result: '7' }, { result: '7' }]);
    });

    it('reject runEnded when its signal aborts', async () => {
      const shop = await consume([runs]);
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      const controller = new AbortController();
      const ended = shop.transport.runs.ended('run', sent.id, controller.signal);
      controller.abort(cancelled);
      await expect(ended).rejects.toBe(cancelled);
      await expect(shop.transport.runs.ended('run', sent.id, controller.signal)).rejects.toBe(cancelled);
    });

    it('tell those that watch them, in every connection, of each entry and wait', async () => {
      const shop = await consume([runs]);
      const other = await consume([]);
      const sent = envelope('run');
      await shop.transport.publish([sent]);
      const running = await next(shop);
      const changes = new Set<string>();
      const ends = [
        await shop.transport.runs.watch('run', sent.id, () => changes.add('here')),
        await other.transport.runs.watch('run', sent.id, () => changes.add('there')),
      ];
      const seen = async (from: number) => {
        const { checkpoints, waits, status } = (await other.transport.runs.getSince('run', sent.id, from)) ?? {};
        return { keys: [...(checkpoints?.keys() ?? [])], waits: waits?.map(({ key }) => key), status };
      };
      const changed = async (): Promise<void> => {
        await until(() => changes.size === 2);
        changes.clear();
      };
      await running.checkpoint('pick', '1');
      await running.checkpoint('ship', '2');
      await changed();
      expect(await seen(0)).toEqual({ keys: ['pick', 'ship'], waits: [], status: 'active' });
      expect(await seen(1)).toMatchObject({ keys: ['ship'] });
      expect(await seen(2)).toMatchObject({ keys: [] });
      await running.wait([{ key: 'paid', event: { type: 'signal', key: undefined } }]);
      await running.commit(suspended(2));
      await changed();
      expect(await seen(2)).toEqual({ keys: [], waits: ['paid'], status: 'suspended' });
      await shop.transport.publish([envelope('signal')]);
      await changed();
      expect(await seen(2)).toMatchObject({ keys: ['paid'], waits: [] });
      for (const end of ends) end();
      changes.clear();
      const resumed = await next(shop);
      await resumed.checkpoint('last', '3');
      await until(async () => (await seen(3)).keys.length === 1);
      expect([...changes]).toEqual([]);
      expect(await other.transport.runs.getSince('run', 'unknown', 0)).toBeUndefined();
    });

    it('are not delivered at their due time after they were ended from outside', async () => {
      const shop = await consume([runs]);
      const delayMs = 500;
      const [id, result] = await inTime(delayMs, async () => {
        const sent = envelope('run', { delayMs });
        await shop.transport.publish([sent]);
        return [sent.id, await shop.transport.runs.end('run', sent.id, failed('cancelled'), cancelled)];
      });
      expect(result).toBe('ok');
      await advance(delayMs + 50);
      expect(shop.waiting.map((delivery) => delivery.envelope.id)).not.toContain(id);
      expect(await shop.transport.lookup.find(id)).toMatchObject([{ status: 'failed', attempts: [] }]);
    });

    it('emit events when they are ended from outside while they wait', async () => {
      const shop = await consume([runs, 'b']);
      const sent = envelope('run', { delayMs: 60_000 });
      await shop.transport.publish([sent]);
      const outcome = failed('cancelled', [envelope('b')]);
      expect(await shop.transport.runs.end('run', sent.id, outcome, cancelled)).toBe('ok');
      expect(await shop.transport.runs.end('run', sent.id, outcome, cancelled)).toBe('already');
      expect(await shop.transport.runs.end('run', 'unknown', outcome, cancelled)).toBe('fenced');
      expect((await next(shop)).envelope.type).toBe('b');
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, failed: 1, pending: 0, active: 0 });
    });

    it('lose their lease with the reason if they are ended from outside while running', async () => {
      const shop = await consume([runs], { concurrency: 1 });
      const sent = [envelope('run'), envelope('run')] as const;
      await shop.transport.publish(sent);
      const running = await next(shop);
      const reasons: Error[] = [];
      running.onRevoked = (reason) => void reasons.push(reason);
      expect(await shop.transport.runs.end('run', sent[0].id, failed('cancelled'), cancelled)).toBe('ok');
      await until(() => reasons.length > 0);
      expect(reasons[0]?.message).toBe('cancelled');
      expect(await running.commit(completed())).toBe('already');
      expect((await next(shop)).envelope.id).toBe(sent[1].id);
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 2, failed: 1, pending: 1, active: 1 });
    });

    it('are triggered by events, including those without a handler', async () => {
      const trigger = (type: string): Subscription => ({
        type: `run of ${type}`,
        retainsRuns: true,
        triggers: [type],
      });
      const shop = await consume(['handled', trigger('handled'), trigger('signal')]);
      const handled = envelope('handled', { body: '"x"', requestId: 'r-1' });
      const signal = envelope('signal');
      await shop.transport.publish([handled, signal]);
      const delivered = [await next(shop), await next(shop), await next(shop)].map((delivery) => delivery.envelope);
      expect(delivered.map(({ type }) => type).sort()).toEqual(['handled', 'run of handled', 'run of signal']);
      expect(delivered.find(({ type }) => type === 'run of handled')).toMatchObject({
        id: triggeredId('shop', handled.id, 'run of handled', 'handled'),
        causeId: handled.id,
        body: '"x"',
        requestId: 'r-1',
        depth: 1,
      });
      expect(await counts(shop.transport, 'signal')).toMatchObject({ received: 1, completed: 1, pending: 0 });
      expect(await counts(shop.transport, 'run of signal')).toMatchObject({ received: 1, pending: 1 });
    });

    it('have short ids that differ from service to service, and the key of their event', async () => {
      const runs: Subscription = { type: 'flow\u001fGröße/%2F.x', retainsRuns: true, triggers: ['a'] };
      const shop = await consume([runs]);
      const mail = await consume([runs], { service: 'Post: a/b' });
      const sent = envelope('a', { id: `${'1'.repeat(8)}/ä:%3A`, key: 'k/é "' });
      await shop.transport.publish([sent]);
      for (const consumption of [shop, mail]) {
        const { service } = consumption.transport;
        const { envelope: delivered } = await next(consumption);
        const expected = {
          id: triggeredId(service, sent.id, runs.type, 'a'),
          key: sent.key,
          causeId: sent.id,
          depth: 1,
        };
        expect(delivered).toMatchObject(expected);
        expect(delivered.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        expect(await consumption.transport.runs.get(runs.type, delivered.id)).toMatchObject({ envelope: expected });
      }
    });
  });
}
