import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyTypeError } from './errors.js';
import type { Counts } from './stats.js';
import type { Delivery, Envelope, Outcome, Subscription, TransportManager } from './transport.js';

/** What the suite needs of a transport under test. */
export interface ContractHarness {
  /** A connection to the one transport of this test. */
  connect(service: string): TransportManager;
  /** Lets so much of the transport's time pass. */
  advance(ms: number): Promise<void>;
  /** Ends whatever the harness began. */
  release(): Promise<void>;
}

/** Everything that holds for every transport. Called once by each transport's own test. */
export function describeTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => {
    let harness: ContractHarness;
    let open: Consumption[];

    beforeEach(async () => {
      harness = await setup();
      open = [];
    });
    afterEach(async () => {
      for (const { transport } of open) await transport.close({ drainMs: 0 });
      await harness.release();
    });

    async function consume(
      subscriptions: readonly (string | Subscription)[],
      { service = 'shop', concurrency = 100, description = '{}' } = {},
    ): Promise<Consumption> {
      const consumption = new Consumption(harness.connect(service));
      open.push(consumption);
      await consumption.transport.start({
        concurrency,
        describe: () => description,
        subscriptions: subscriptions.map((type) => (typeof type === 'string' ? { type } : type)),
        consumer: (delivery) => consumption.take(delivery),
      });
      return consumption;
    }

    /** Waits for a condition while the transport's time goes by in small steps. */
    async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
      for (let step = 0; step < 500; step += 1) {
        if (await condition()) return;
        await harness.advance(step < 10 ? 0 : 10);
      }
      throw new Error('the awaited condition did not come true');
    }

    async function next(consumption: Consumption): Promise<Delivery> {
      await until(() => consumption.waiting.length > 0);
      return consumption.shift();
    }

    async function counts(transport: TransportManager, type: string): Promise<Counts> {
      const [found] = await transport.counts([type]);
      if (found === undefined) throw new Error('counts() answered nothing for a type');
      return found.total;
    }

    describe('one event', () => {
      it('reaches the consumer unchanged and is counted at each step', async () => {
        const shop = await consume(['order.created']);
        const sent = envelope('order.created', { body: '{"text":"日本 \\u0000"}', requestId: 'r-1', depth: 3 });
        expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
        const delivery = await next(shop);
        expect(delivery.envelope).toMatchObject({ id: sent.id, type: sent.type, body: sent.body });
        expect(delivery.envelope).toMatchObject({ requestId: 'r-1', depth: 3 });
        expect(delivery.attempt).toBe(1);
        expect(await counts(shop.transport, 'order.created')).toMatchObject({ received: 1, pending: 1, active: 1 });
        expect(await delivery.commit(completed())).toBe('ok');
        expect(await counts(shop.transport, 'order.created')).toMatchObject({
          received: 1,
          completed: 1,
          failed: 0,
          pending: 0,
          active: 0,
        });
      });

      it('has one outcome: a second commit changes nothing', async () => {
        const shop = await consume(['a']);
        await shop.transport.publish([envelope('a')]);
        const delivery = await next(shop);
        expect(await delivery.commit(completed())).toBe('ok');
        expect(await delivery.commit(failed('late'))).toBe('already');
        expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, completed: 1, failed: 0 });
      });

      it('is delivered again after a retry, later and with the next attempt, and counted once', async () => {
        const shop = await consume(['a']);
        await shop.transport.publish([envelope('a')]);
        const first = await next(shop);
        expect(await first.commit(retry(50))).toBe('ok');
        expect(await first.commit(completed())).toBe('fenced');
        expect(shop.waiting).toHaveLength(0);
        expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, pending: 1, active: 0, retried: 1 });
        const second = await next(shop);
        expect(second.attempt).toBe(2);
        expect(second.envelope.id).toBe(first.envelope.id);
        await second.commit(completed());
        expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, completed: 1, pending: 0, retried: 1 });
      });

      it('waits for its delay', async () => {
        const shop = await consume(['a']);
        await shop.transport.publish([envelope('a', { delayMs: 80 })]);
        await harness.advance(0);
        expect(shop.waiting).toHaveLength(0);
        expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, pending: 1, active: 0 });
        expect((await next(shop)).attempt).toBe(1);
      });

      it('of a type that nobody handles is received and completed at once', async () => {
        const shop = await consume(['other']);
        await shop.transport.publish([envelope('signal')]);
        expect(await counts(shop.transport, 'signal')).toMatchObject({ received: 1, completed: 1, pending: 0 });
      });

      it.each(['__proto__', 'constructor', 'a:b/c 50%', '日本 🎉', 'x'.repeat(512)])(
        'may have the type %j',
        async (type) => {
          const shop = await consume([type]);
          await shop.transport.publish([envelope(type)]);
          const delivery = await next(shop);
          expect(delivery.envelope.type).toBe(type);
          await delivery.commit(failed('no'));
          expect(await counts(shop.transport, type)).toMatchObject({ received: 1, failed: 1 });
          expect(await shop.transport.failures(type)).toHaveLength(1);
        },
      );
    });

    describe('follow-ups', () => {
      it('are published with the outcome, once', async () => {
        const shop = await consume(['a', 'b']);
        await shop.transport.publish([envelope('a')]);
        const delivery = await next(shop);
        const following = envelope('b', { depth: 1 });
        expect(await delivery.commit(completed([following]))).toBe('ok');
        expect(await delivery.commit(completed([following]))).toBe('already');
        expect((await next(shop)).envelope).toMatchObject({ id: following.id, depth: 1 });
        expect(await counts(shop.transport, 'b')).toMatchObject({ received: 1, pending: 1 });
      });

      it('go out after a failure too, and not with a retry', async () => {
        const shop = await consume(['a', 'b']);
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit(retry(0));
        await (await next(shop)).commit(failed('no', [envelope('b')]));
        expect((await next(shop)).envelope.type).toBe('b');
      });
    });

    describe('lanes', () => {
      it('runs as many as the connection may, and the next when one ends', async () => {
        const shop = await consume(['a', 'b'], { concurrency: 2 });
        await shop.transport.publish([envelope('a'), envelope('b'), envelope('a')]);
        const first = await next(shop);
        await next(shop);
        await harness.advance(20);
        expect(shop.waiting).toHaveLength(0);
        await first.commit(completed());
        await next(shop);
      });

      it('starts a type of concurrency 1 in order of acceptance, over all connections of the service', async () => {
        const subscription = { type: 'serial', concurrency: 1 };
        const one = await consume([subscription]);
        const two = await consume([subscription]);
        const sent = Array.from({ length: 6 }, () => envelope('serial'));
        await one.transport.publish(sent);
        const order: string[] = [];
        for (let i = 0; i < sent.length; i += 1) {
          await until(() => one.waiting.length + two.waiting.length > 0);
          expect(one.waiting.length + two.waiting.length).toBe(1);
          const delivery = one.waiting.length > 0 ? one.shift() : two.shift();
          order.push(delivery.envelope.id);
          await delivery.commit(completed());
        }
        expect(order).toEqual(sent.map(({ id }) => id));
      });

      it('lets a type with a concurrency of its own run while the shared places are taken', async () => {
        const shop = await consume(['a', { type: 'own', concurrency: 1 }], { concurrency: 1 });
        await shop.transport.publish([envelope('a'), envelope('a'), envelope('own')]);
        const types = [(await next(shop)).envelope.type, (await next(shop)).envelope.type];
        expect(types.sort()).toEqual(['a', 'own']);
      });

      it('starts no more than the rate allows in its window', async () => {
        const shop = await consume([{ type: 'a', rate: { max: 2, perMs: 200 } }]);
        await shop.transport.publish(Array.from({ length: 5 }, () => envelope('a')));
        await until(() => shop.waiting.length === 2);
        await harness.advance(50);
        expect(shop.waiting).toHaveLength(2);
        await until(() => shop.waiting.length === 4);
        await until(() => shop.waiting.length === 5);
      });

      it('starts a higher priority first', async () => {
        const shop = await consume([{ type: 'a', concurrency: 1 }]);
        await shop.transport.publish([envelope('a')]);
        const running = await next(shop);
        const low = envelope('a', { priority: -5 });
        const middle = envelope('a');
        const high = envelope('a', { priority: 5 });
        await shop.transport.publish([low, middle, high]);
        await running.commit(completed());
        for (const expected of [high, middle, low]) {
          const delivery = await next(shop);
          expect(delivery.envelope.id).toBe(expected.id);
          await delivery.commit(completed());
        }
      });
    });

    describe('services', () => {
      it('of different names each get every event of a type they handle', async () => {
        const shop = await consume(['a']);
        const mail = await consume(['a', 'b'], { service: 'mail' });
        await shop.transport.publish([envelope('a'), envelope('b')]);
        await (await next(shop)).commit(completed());
        const mailed = [await next(mail), await next(mail)];
        expect(mailed.map((delivery) => delivery.envelope.type).sort()).toEqual(['a', 'b']);
        for (const delivery of mailed) await delivery.commit(failed('no'));
        const [a, b] = await shop.transport.counts(['a', 'b']);
        expect(a?.total).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
        expect(a?.services.map(({ service }) => service).sort()).toEqual(['mail', 'shop']);
        expect(b?.total).toMatchObject({ received: 1, failed: 1 });
        expect(await mail.transport.metrics('a')).toMatchObject({ received: 2, completed: 1, failed: 1 });
      });

      it('of one name share the work: each event runs once', async () => {
        const one = await consume(['a'], { concurrency: 3 });
        const two = await consume(['a'], { concurrency: 3 });
        await one.transport.publish(Array.from({ length: 6 }, () => envelope('a')));
        await until(() => one.waiting.length === 3 && two.waiting.length === 3);
        const ids = [...one.waiting, ...two.waiting].map((delivery) => delivery.envelope.id);
        expect(new Set(ids).size).toBe(6);
      });

      it('keeps events of a type that a restarted service no longer handles until one does', async () => {
        const before = await consume(['a', 'dropped']);
        await before.transport.close({ drainMs: 0 });
        const after = await consume(['a']);
        await after.transport.publish([envelope('dropped'), envelope('a')]);
        expect((await next(after)).envelope.type).toBe('a');
        expect(await counts(after.transport, 'dropped')).toMatchObject({ received: 1, pending: 1, active: 0 });
        const again = await consume(['dropped']);
        expect((await next(again)).envelope.type).toBe('dropped');
      });
    });

    describe('a changed subscription', () => {
      const own: Subscription = { type: 'a', concurrency: 1 };

      it.each([
        ['gets', ['a', 'b'], [own, 'b']],
        ['loses', [own, 'b'], ['a', 'b']],
      ])('that %s a lane of its own still brings what was accepted before', async (_, first, second) => {
        const before = await consume(first);
        await before.transport.close({ drainMs: 0 });
        const sent = envelope('a');
        await before.transport.publish([sent, envelope('a', { delayMs: 100 })]);
        const after = await consume(second);
        const delivery = await next(after);
        expect(delivery.envelope.id).toBe(sent.id);
        await delivery.commit(completed());
        await (await next(after)).commit(completed());
        expect(await counts(after.transport, 'a')).toMatchObject({ received: 2, completed: 2, pending: 0 });
      });
    });

    describe('deduplication', () => {
      const once = (type = 'a'): Envelope => envelope(type, { dedupe: { id: 'pay-1', windowMs: 500 } });

      it('accepts one event of an id while its window lasts, and answers with its id', async () => {
        const shop = await consume(['a', 'b']);
        const sent = once();
        await shop.transport.publish([sent]);
        expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
        expect(await shop.transport.publish([once('b')])).toMatchObject([{ deduplicated: false }]);
        expect(await shop.transport.metrics('a')).toMatchObject({ received: 1, deduplicated: 1 });
        await harness.advance(550);
        expect(await shop.transport.publish([once()])).toMatchObject([{ deduplicated: false }]);
        expect(await shop.transport.metrics('a')).toMatchObject({ received: 2, deduplicated: 1 });
      });

      it('holds within one call too', async () => {
        const shop = await consume(['a']);
        const [first, second] = [once(), once()];
        expect(await shop.transport.publish([first, second])).toEqual([
          { id: first.id, deduplicated: false },
          { id: first.id, deduplicated: true },
        ]);
        expect(await shop.transport.metrics('a')).toMatchObject({ received: 1, deduplicated: 1 });
      });
    });

    describe('closing', () => {
      it('waits for what runs', async () => {
        const shop = await consume(['a']);
        await shop.transport.publish([envelope('a')]);
        const delivery = await next(shop);
        const closing = shop.transport.close({ drainMs: 60_000 });
        await harness.advance(20);
        await delivery.commit(completed());
        expect(await closing).toEqual({ handedBack: 0 });
      });

      it('revokes at the deadline, hands back without an attempt, and fences what comes late', async () => {
        const one = await consume(['a']);
        await one.transport.publish([envelope('a')]);
        const interrupted = await next(one);
        const reasons: Error[] = [];
        interrupted.onRevoked = (reason) => reasons.push(reason);
        const two = await consume(['a']);
        const closing = one.transport.close({ drainMs: 30 });
        await harness.advance(50);
        expect(await closing).toEqual({ handedBack: 1 });
        expect(reasons).toMatchObject([{ code: 'ERR_SHUTDOWN' }]);
        const taken = await next(two);
        expect(taken.attempt).toBe(1);
        expect(taken.envelope.id).toBe(interrupted.envelope.id);
        expect(await interrupted.commit(completed())).toBe('fenced');
        expect(await counts(two.transport, 'a')).toMatchObject({ received: 1, completed: 0, active: 1 });
        expect(await taken.commit(completed())).toBe('ok');
        expect(await interrupted.commit(failed('late'))).toBe('already');
        expect(await counts(two.transport, 'a')).toMatchObject({ received: 1, completed: 1, failed: 0, pending: 0 });
      });

      it('keeps the order of what it hands back', async () => {
        const one = await consume(['a'], { concurrency: 3 });
        const sent = Array.from({ length: 5 }, () => envelope('a'));
        await one.transport.publish(sent);
        await until(() => one.waiting.length === 3);
        await one.transport.close({ drainMs: 0 });
        const two = await consume(['a']);
        await until(() => two.waiting.length === 5);
        expect(two.waiting.map((delivery) => delivery.envelope.id)).toEqual(sent.map(({ id }) => id));
      });
    });

    describe('runs', () => {
      const runs: Subscription = { type: 'run', keepsRuns: true };
      const cancelled = new Error('cancelled');

      it('keep what was checkpointed for the deliveries that follow', async () => {
        const shop = await consume([runs]);
        await shop.transport.publish([envelope('run')]);
        const first = await next(shop);
        expect([...first.checkpoints]).toEqual([]);
        expect(await first.checkpoint('pick', '1')).toBe('ok');
        expect(await first.checkpoint('pick', '2')).toBe('already');
        expect(await first.checkpoint('__proto__', '3')).toBe('ok');
        await first.commit(retry(10));
        expect(await first.checkpoint('ship', '4')).toBe('fenced');
        const second = await next(shop);
        expect([...second.checkpoints]).toEqual([
          ['pick', '1'],
          ['__proto__', '3'],
        ]);
      });

      it('take no checkpoint from a delivery that lost its lease', async () => {
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
        expect(await interrupted.checkpoint('ship', 'late')).toBe('already');
        await resumed.commit(completed());
        expect(await resumed.checkpoint('more', '3')).toBe('fenced');
      });

      it('can be looked at from their acceptance to their end', async () => {
        const shop = await consume([runs, 'a']);
        const sent = envelope('run', { body: '{"order":1}' });
        await shop.transport.publish([sent]);
        const delivery = await next(shop);
        await delivery.checkpoint('pick', '1');
        expect(await shop.transport.run('run', sent.id)).toMatchObject({
          id: sent.id,
          service: 'shop',
          envelope: { body: '{"order":1}' },
          status: 'active',
          attempt: 1,
          checkpoints: new Map([['pick', '1']]),
          endedAt: undefined,
        });
        await delivery.commit(retry(20));
        expect(await shop.transport.run('run', sent.id)).toMatchObject({ status: 'waiting', attempt: 2 });
        await (await next(shop)).commit({ ...completed(), result: '"done"' });
        const ended = await shop.transport.run('run', sent.id);
        expect(ended).toMatchObject({ status: 'completed', result: '"done"', error: undefined });
        expect(ended?.endedAt).toBeGreaterThanOrEqual(ended?.acceptedAt ?? Number.NaN);
        expect(await shop.transport.run('run', 'unknown')).toBeUndefined();
      });

      it('are listed newest first, of all services', async () => {
        const shop = await consume([runs]);
        const mail = await consume([runs], { service: 'mail' });
        for (let i = 0; i < 3; i += 1) {
          await shop.transport.publish([envelope('run')]);
          await harness.advance(5);
        }
        await (await next(mail)).commit(failed('no'));
        const [latest, none] = await shop.transport.runs(['run', 'other'], 4);
        expect(latest).toHaveLength(4);
        expect(none).toEqual([]);
        const times = (latest ?? []).map(({ acceptedAt }) => acceptedAt);
        expect(times).toEqual([...times].sort((a, b) => b - a));
        const [all] = await shop.transport.runs(['run'], 50);
        expect(all?.filter(({ service }) => service === 'mail')).toHaveLength(3);
        expect(all?.find(({ status }) => status === 'failed')).toMatchObject({
          service: 'mail',
          error: { message: 'no' },
        });
      });

      it('tell when they have ended, with their result', async () => {
        const shop = await consume([runs]);
        const sent = envelope('run');
        await shop.transport.publish([sent]);
        const { signal } = new AbortController();
        const ended = shop.transport.runEnded('run', sent.id, signal);
        await (await next(shop)).commit({ ...completed(), result: '7' });
        await until(() => true);
        expect(await ended).toMatchObject({ status: 'completed', result: '7' });
        expect(await shop.transport.runEnded('run', sent.id, signal)).toMatchObject({ status: 'completed' });
        expect(await shop.transport.runEnded('run', 'unknown', signal)).toBeUndefined();
      });

      it('stop telling when nobody wants to know', async () => {
        const shop = await consume([runs]);
        const sent = envelope('run');
        await shop.transport.publish([sent]);
        const controller = new AbortController();
        const ended = shop.transport.runEnded('run', sent.id, controller.signal);
        controller.abort(cancelled);
        await expect(ended).rejects.toBe(cancelled);
        await expect(shop.transport.runEnded('run', sent.id, controller.signal)).rejects.toBe(cancelled);
      });

      it('can be ended from outside while they wait: they are not delivered then', async () => {
        const shop = await consume([runs, 'b']);
        const sent = envelope('run', { delayMs: 100 });
        await shop.transport.publish([sent]);
        const outcome = failed('cancelled', [envelope('b')]);
        expect(await shop.transport.endRun('run', sent.id, outcome, cancelled)).toBe('ok');
        expect(await shop.transport.endRun('run', sent.id, outcome, cancelled)).toBe('already');
        expect(await shop.transport.endRun('run', 'unknown', outcome, cancelled)).toBe('fenced');
        expect((await next(shop)).envelope.type).toBe('b');
        await harness.advance(150);
        expect(shop.waiting).toHaveLength(0);
        expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, failed: 1, pending: 0, active: 0 });
      });

      it('can be ended from outside while they run: the lease is revoked with the reason', async () => {
        const shop = await consume([runs], { concurrency: 1 });
        const sent = [envelope('run'), envelope('run')] as const;
        await shop.transport.publish(sent);
        const running = await next(shop);
        const reasons: Error[] = [];
        running.onRevoked = (reason) => reasons.push(reason);
        expect(await shop.transport.endRun('run', sent[0].id, failed('cancelled'), cancelled)).toBe('ok');
        await until(() => reasons.length > 0);
        expect(reasons[0]?.message).toBe('cancelled');
        expect(await running.commit(completed())).toBe('already');
        expect((await next(shop)).envelope.id).toBe(sent[1].id);
        expect(await counts(shop.transport, 'run')).toMatchObject({ received: 2, failed: 1, pending: 1, active: 1 });
      });

      it('are triggered by events, those that nobody handles too', async () => {
        const trigger = (type: string): Subscription => ({
          type: `run of ${type}`,
          keepsRuns: true,
          trigger: { type, idSuffix: 'flow' },
        });
        const shop = await consume(['handled', trigger('handled'), trigger('signal')]);
        const handled = envelope('handled', { body: '"x"', requestId: 'r-1' });
        const signal = envelope('signal');
        await shop.transport.publish([handled, signal]);
        const delivered = [await next(shop), await next(shop), await next(shop)].map((delivery) => delivery.envelope);
        expect(delivered.map(({ type }) => type).sort()).toEqual(['handled', 'run of handled', 'run of signal']);
        expect(delivered.find(({ type }) => type === 'run of handled')).toMatchObject({
          id: `${handled.id}.flow`,
          body: '"x"',
          requestId: 'r-1',
          depth: 1,
        });
        expect(await counts(shop.transport, 'signal')).toMatchObject({ received: 1, completed: 1, pending: 0 });
        expect(await counts(shop.transport, 'run of signal')).toMatchObject({ received: 1, pending: 1 });
      });
    });

    describe('statistics', () => {
      it('keep the last 20 failures, newest first', async () => {
        const shop = await consume(['a']);
        for (let i = 0; i < 25; i += 1) {
          await shop.transport.publish([envelope('a')]);
          await (await next(shop)).commit(failed(`no ${i}`));
        }
        const failures = await shop.transport.failures('a');
        expect(failures.map(({ message }) => message)).toEqual(Array.from({ length: 20 }, (_, i) => `no ${24 - i}`));
        expect(failures[0]).toMatchObject({ attempt: 1, name: 'Error' });
        expect(Object.keys(failures[0] ?? {}).sort()).toEqual(['at', 'attempt', 'id', 'message', 'name']);
      });

      it('count the last hour by the minute', async () => {
        const shop = await consume(['a']);
        await shop.transport.publish([envelope('a'), envelope('a')]);
        await (await next(shop)).commit(completed());
        await (await next(shop)).commit(failed('no'));
        const { perMinute } = await shop.transport.metrics('a');
        expect(perMinute).toHaveLength(60);
        const total = perMinute.reduce(
          (sum, { received, completed: done, failed: lost }) => sum + received + done + lost,
          0,
        );
        expect(total).toBe(4);
        const steps = perMinute.slice(1).map(({ at }, index) => at - (perMinute[index]?.at ?? 0));
        expect(new Set(steps)).toEqual(new Set([60_000]));
      });

      it('measure durations to within 2 %', async () => {
        const shop = await consume(['a']);
        for (let ms = 1; ms <= 100; ms += 1) {
          await shop.transport.publish([envelope('a')]);
          await (await next(shop)).commit({ ...completed(), durationMs: ms });
        }
        const { durationMs } = await shop.transport.metrics('a');
        expect(Math.abs((durationMs.p50 ?? 0) - 50)).toBeLessThanOrEqual(2);
        expect(Math.abs((durationMs.p95 ?? 0) - 95)).toBeLessThanOrEqual(3);
        expect(durationMs.max).toBe(100);
      });

      it('have a revision that moves when they do, and only then', async () => {
        const shop = await consume(['a', 'b']);
        const { transport } = shop;
        const revisions = async (): Promise<string[]> => [
          await transport.revision(),
          await transport.revision('a'),
          await transport.revision('b'),
        ];
        const before = await revisions();
        expect(await revisions()).toEqual(before);
        await transport.publish([envelope('a')]);
        const delivery = await next(shop);
        const during = await revisions();
        expect(during[0]).not.toBe(before[0]);
        expect(during[1]).not.toBe(before[1]);
        expect(during[2]).toBe(before[2]);
        await delivery.commit(completed());
        expect((await revisions())[1]).not.toBe(during[1]);
      });
    });

    describe('registered', () => {
      it('tells of every connection of every service while it is open', async () => {
        const shop = await consume(['a'], { description: '"shop 1"' });
        const mail = await consume(['b'], { service: 'mail', description: '"mail 1"' });
        const observer = await consume([], { service: 'watch', description: '"watch"' });
        const seen = async (): Promise<string[]> => [...(await observer.transport.registered())].sort();
        expect(await seen()).toEqual(['"mail 1"', '"shop 1"', '"watch"']);
        const before = await observer.transport.revision();
        await mail.transport.close({ drainMs: 0 });
        expect(await seen()).toEqual(['"shop 1"', '"watch"']);
        expect(await observer.transport.revision()).not.toBe(before);
        expect(await shop.transport.registered()).toHaveLength(2);
      });
    });

    describe('key-value store', () => {
      it('stores, finds and deletes', async () => {
        const { kv } = harness.connect('shop');
        expect(await kv.get('k')).toBeUndefined();
        expect(await kv.set('k', 'one')).toBe(true);
        expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(false);
        expect(await harness.connect('mail').kv.get('k')).toBe('one');
        expect(await kv.delete('k')).toBe(true);
        expect(await kv.delete('k')).toBe(false);
        expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(true);
      });

      it('forgets at the end of ttlMs, which each call sets anew', async () => {
        const { kv } = harness.connect('shop');
        await kv.set('string', 'x', { ttlMs: 1_000 });
        await kv.append('list', ['x'], { ttlMs: 1_000 });
        await kv.increment('number', 1, 1_000);
        await harness.advance(600);
        await kv.append('list', ['y'], { ttlMs: 1_000 });
        await kv.increment('number', 1, 1_000);
        await harness.advance(600);
        expect(await kv.get('string')).toBeUndefined();
        expect(await kv.range('list', 0, -1)).toEqual(['x', 'y']);
        expect(await kv.get('number')).toBe('2');
        await harness.advance(600);
        expect(await kv.range('list', 0, -1)).toEqual([]);
        expect(await kv.set('string', 'y', { ifAbsent: true })).toBe(true);
      });

      it('increments without losing one', async () => {
        const { kv } = harness.connect('shop');
        await Promise.all(Array.from({ length: 50 }, () => kv.increment('n')));
        expect(await kv.increment('n', -8)).toBe(42);
      });

      it('appends, keeps the last, and loses none of many at once', async () => {
        const { kv } = harness.connect('shop');
        expect(await kv.append('l', ['a', 'b', 'c'])).toBe(3);
        expect(await kv.append('l', ['d', 'e'], { keepLast: 3 })).toBe(3);
        expect(await kv.range('l', 0, -1)).toEqual(['c', 'd', 'e']);
        expect(await kv.range('l', 1, 1)).toEqual(['d']);
        expect(await kv.range('l', -2, -1)).toEqual(['d', 'e']);
        expect(await kv.range('l', 5, 9)).toEqual([]);
        await Promise.all(Array.from({ length: 50 }, (_, i) => kv.append('many', [String(i)])));
        expect(new Set(await kv.range('many', 0, -1)).size).toBe(50);
      });

      it('takes no key for what it is not', async () => {
        const { kv } = harness.connect('shop');
        await kv.set('string', 'x');
        await kv.append('list', ['x']);
        await expect(kv.append('string', ['y'])).rejects.toThrow(KeyTypeError);
        await expect(kv.range('string', 0, -1)).rejects.toThrow(KeyTypeError);
        await expect(kv.get('list')).rejects.toThrow(KeyTypeError);
        await expect(kv.increment('string')).rejects.toThrow(KeyTypeError);
        expect(await kv.get('__proto__')).toBeUndefined();
      });
    });
  });
}

/** A connection with what was delivered to it and not yet looked at. */
class Consumption {
  readonly transport: TransportManager;
  readonly waiting: Delivery[] = [];

  constructor(transport: TransportManager) {
    this.transport = transport;
  }

  take(delivery: Delivery): void {
    this.waiting.push(delivery);
  }

  shift(): Delivery {
    const delivery = this.waiting.shift();
    if (delivery === undefined) throw new Error('nothing was delivered');
    return delivery;
  }
}

let ids = 0;

function envelope(type: string, fields: Partial<Envelope> = {}): Envelope {
  ids += 1;
  const id = `event-${ids}`;
  return { id, type, body: '{}', requestId: id, depth: 0, delayMs: 0, priority: 0, dedupe: undefined, ...fields };
}

function completed(followUps: readonly Envelope[] = []): Extract<Outcome, { status: 'completed' }> {
  return { status: 'completed', durationMs: 1, followUps };
}

function failed(message: string, followUps: readonly Envelope[] = []): Outcome {
  return { status: 'failed', durationMs: 1, error: { name: 'Error', message }, followUps };
}

function retry(delayMs: number): Outcome {
  return { status: 'retry', durationMs: 1, delayMs };
}
