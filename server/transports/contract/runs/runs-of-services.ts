import { describe, expect, it } from 'vitest';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';
import { runs } from './run-stage.js';

/** Tests runs that connections of other services start, read, await and end. */
export function describeRunsOfServices({ connect, consume, counts, next, until }: ContractStage): void {
  describe('a run of another service', () => {
    it('is received by that service alone, and is read and awaited by the one that started it', async () => {
      const web = await consume([], { service: 'web' });
      const shop = await consume([runs], { service: 'shop' });
      const mail = await consume([runs], { service: 'mail' });
      const sent = envelope('run', { service: 'shop', body: '{"order":1}' });
      expect(await web.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      const ended = web.transport.runs.ended('run', sent.id, new AbortController().signal, 'shop');
      const delivery = await next(shop);
      await delivery.checkpoint('pick', '1');
      expect(await web.transport.runs.get('run', sent.id, 'shop')).toMatchObject({
        service: 'shop',
        status: 'active',
        envelope: { body: '{"order":1}' },
        checkpoints: new Map([['pick', '1']]),
      });
      expect((await web.transport.runs.getSince('run', sent.id, 1, 'shop'))?.checkpoints.size).toBe(0);
      expect(await web.transport.runs.get('run', sent.id)).toBeUndefined();
      expect(await web.transport.runs.get('run', sent.id, 'unknown')).toBeUndefined();
      await delivery.commit({ ...completed(), result: '7' });
      await until(() => true);
      expect(await ended).toMatchObject({ status: 'completed', result: '7' });
      expect(mail.waiting).toEqual([]);
      expect(await counts(web.transport, 'run')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it('is retained, read and awaited before the first process of its service starts', async () => {
      const web = await consume([], { service: 'web' });
      const sent = envelope('run', { service: 'shop' });
      expect(await web.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      expect(await web.transport.runs.get('run', sent.id, 'shop')).toMatchObject({
        status: 'waiting',
        service: 'shop',
      });
      const ended = web.transport.runs.ended('run', sent.id, new AbortController().signal, 'shop');
      expect(await counts(web.transport, 'run')).toMatchObject({ received: 1, pending: 1 });
      const shop = await consume([runs], { service: 'shop' });
      const delivery = await next(shop);
      await delivery.wait([{ key: 'sleep', delayMs: 10 }]);
      await delivery.commit(suspended(0));
      await (await next(shop)).commit({ ...completed(), result: '"late"' });
      await until(() => true);
      expect(await ended).toMatchObject({ status: 'completed', result: '"late"' });
    });

    it('is announced to those that watch it, and ends from there', async () => {
      const web = await consume([], { service: 'web' });
      const shop = await consume([runs], { service: 'shop' });
      const sent = envelope('run', { service: 'shop' });
      await web.transport.publish([sent]);
      const delivery = await next(shop);
      const revoked: Error[] = [];
      delivery.onRevoked = (reason) => void revoked.push(reason);
      let changes = 0;
      const count = (): void => {
        changes += 1;
      };
      const unwatch = await web.transport.runs.watch('run', sent.id, count, 'shop');
      await delivery.checkpoint('pick', '1');
      await until(() => changes > 0);
      unwatch();
      const reason = new Error('cancelled');
      const end = (): Promise<string> => web.transport.runs.end('run', sent.id, failed('cancelled'), reason, 'shop');
      expect(await end()).toBe('ok');
      expect(await end()).toBe('already');
      expect(await web.transport.runs.end('run', sent.id, failed('cancelled'), reason)).toBe('fenced');
      await until(() => revoked.length > 0);
      expect(revoked[0]?.message).toBe('cancelled');
      expect(await delivery.commit(completed())).not.toBe('ok');
      expect(await counts(web.transport, 'run')).toMatchObject({ received: 1, failed: 1, pending: 0 });
    });

    it('ends before the first process of its service starts', async () => {
      const web = await consume([], { service: 'web' });
      const [cancelled, kept] = [envelope('run', { service: 'shop' }), envelope('run', { service: 'shop' })];
      await web.transport.publish([cancelled, kept]);
      const reason = new Error('cancelled');
      expect(await web.transport.runs.end('run', cancelled.id, failed('cancelled'), reason, 'shop')).toBe('ok');
      const shop = await consume([runs], { service: 'shop' });
      expect((await next(shop)).envelope.id).toBe(kept.id);
      expect(await counts(web.transport, 'run')).toMatchObject({ received: 2, failed: 1, pending: 1 });
    });

    it('is deduplicated like any other', async () => {
      const web = await consume([], { service: 'web' });
      const dedupe = { id: 'order-1', windowMs: 3_600_000 };
      const [first, second] = [
        envelope('run', { service: 'shop', dedupe }),
        envelope('run', { service: 'shop', dedupe }),
      ];
      expect(await web.transport.publish([first, second])).toEqual([
        { id: first.id, deduplicated: false },
        { id: first.id, deduplicated: true },
      ]);
      expect(await counts(connect('other'), 'run')).toMatchObject({ received: 1, deduplicated: 1 });
    });
  });
}
