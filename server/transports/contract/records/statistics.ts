import { describe, expect, it } from 'vitest';
import { type Delivery, type Envelope, workflowType } from '../../delivery.js';
import { durationBoundsMs } from '../../statistics/durations.js';
import { countersOf } from '../../statistics/stats.js';
import type { TransportManager } from '../../transport.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';

/** Tests failures, metrics and revisions. */
export function describeStatistics({ consume, next, now, advance, counts }: ContractStage): void {
  describe('statistics', () => {
    it('retain the last 20 failures, newest first', async () => {
      const shop = await consume(['a']);
      for (let i = 0; i < 25; i += 1) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit(failed(`no ${i}`));
      }
      const failures = await shop.transport.counts.failures('a');
      expect(failures.map(({ message }) => message)).toEqual(Array.from({ length: 20 }, (_, i) => `no ${24 - i}`));
      expect(failures[0]).toMatchObject({ attempt: 1, name: 'Error' });
      expect(failures[0]).not.toHaveProperty('payload');
      expect(failures[0]).not.toHaveProperty('body');
    });

    it('have every counter of the list', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      const start = async (): Promise<Delivery> => {
        await shop.transport.publish([envelope('run')]);
        return next(shop);
      };
      await (await start()).commit(completed());
      await (await start()).commit({ ...completed(), filtered: true });
      await (await start()).commit(failed('no'));
      await (await start()).commit(retry(60_000));
      await (await start()).commit({ status: 'released', durationMs: 1, delayMs: 0, version: 2 });
      const waiting = await start();
      await waiting.wait([{ key: 'approval:a', event: { type: 'decided', key: 'a' }, isApproval: true }]);
      await waiting.commit(suspended(0));
      const once = (): Envelope => envelope('run', { delayMs: 60_000, dedupe: { id: 'once', windowMs: 60_000 } });
      await shop.transport.publish([once()]);
      await shop.transport.publish([once()]);
      const cancelled = envelope('run', { delayMs: 60_000 });
      await shop.transport.publish([cancelled]);
      const error = { name: 'CancelledError', message: 'cancelled' };
      await shop.transport.runs.cancel(cancelled.id, () => {
        return { status: 'failed', cancelled: true, durationMs: 0, error, followUps: [] };
      });
      const running = await start();
      const counted = await counts(shop.transport, 'run');
      // A counter that is added to the list and forgotten in a store is 0, or absent.
      const missing = countersOf('stored', 'live', 'optional', 'latest', 'oldest').filter(
        (name) => !(Number(counted[name]) > 0),
      );
      expect(missing).toEqual([]);
      await running.commit(completed());
    });

    it('count by the minute, 5 minutes and hour', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
      await (await next(shop)).commit(completed());
      await (await next(shop)).commit(failed('no'));
      await (await next(shop)).commit(retry(60_000));
      const { recent, histories } = await shop.transport.counts.metrics('a');
      expect(recent.last5Min).toEqual({ received: 3, completed: 1, failed: 1, cancelled: 0, retried: 1 });
      expect([sum(recent.minutes.received), sum(recent.minutes.failed)]).toEqual([3, 1]);
      expect([recent.minutes.received.length, recent.minutes.failed.length]).toEqual([20, 20]);
      const { minutes, fiveMinutes, hours } = histories;
      expect([minutes, fiveMinutes, hours].map(({ received, stepMs }) => [received.length, stepMs])).toEqual([
        [60, 60_000],
        [588, 300_000],
        [168, 3_600_000],
      ]);
      for (const history of [minutes, fiveMinutes, hours]) {
        expect([history.received, history.completed, history.failed].map(sum)).toEqual([3, 1, 1]);
        expect(history.startAt % history.stepMs).toBe(0);
        expect(history.durationP95Ms.filter((ms) => ms !== null)).not.toEqual([]);
        expect(history.waitP95Ms.filter((ms) => ms !== null)).not.toEqual([]);
      }
    });

    it('count as waiting what comes after the delay of an event', async () => {
      const shop = await consume(['a']);
      const delayMs = 2_000;
      await shop.transport.publish([envelope('a', { delayMs })]);
      await advance(delayMs);
      const delivery = await next(shop);
      await delivery.commit(failed('no'));
      const longest = async (): Promise<number | null> =>
        (await shop.transport.counts.metrics('a')).waitMs.last5Min.max;
      expect(await longest()).toBeLessThan(delayMs / 2);
      // A replay has no delay.
      await shop.transport.pause({ revision: 1, types: ['a'] });
      await shop.transport.deadLetters.replay(delivery.envelope.id);
      await advance(delayMs);
      await shop.transport.pause({ revision: 2, types: [] });
      await (await next(shop)).commit(completed());
      expect(await longest()).toBeGreaterThanOrEqual(delayMs);
    });

    it('count as waiting what comes after the window of a debounced event', async () => {
      const shop = await consume([{ type: 'a', perKey: {}, debounce: { ms: 2_000 } }]);
      await shop.transport.publish([envelope('a', { key: 'k' })]);
      await advance(1_000);
      await shop.transport.publish([envelope('a', { key: 'k' })]);
      await advance(2_000);
      await (await next(shop)).commit(completed());
      expect((await shop.transport.counts.metrics('a')).waitMs.last5Min.max).toBeLessThan(1_000);
    });

    it('count the wait of a run until its first start', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      await shop.transport.publish([envelope('run')]);
      await (await next(shop)).commit(retry(0));
      await advance(1_000);
      const delivery = await next(shop);
      await delivery.wait([{ key: 'sleep', delayMs: 1 }]);
      await delivery.commit(suspended(0));
      await advance(1_000);
      const last = await next(shop);
      await last.commit(failed('no'));
      const { waitMs, histories } = await shop.transport.counts.metrics('run');
      expect(waitMs.last5Min.max).toBeLessThan(500);
      expect(histories.minutes.waitP95Ms.filter((ms) => ms !== null).length).toBeGreaterThan(0);
      // Of a replay its own.
      await shop.transport.pause({ revision: 1, types: ['run'] });
      await shop.transport.deadLetters.replay(last.envelope.id);
      await advance(2_000);
      await shop.transport.pause({ revision: 2, types: [] });
      await (await next(shop)).commit(completed());
      const replayed = await shop.transport.counts.metrics('run');
      expect(replayed.waitMs.last5Min.max).toBeGreaterThanOrEqual(2_000);
    });

    it('contain the activity of each type and of all types in an overview', async () => {
      const shop = await consume(['a', 'b', { type: workflowType('w'), retainsRuns: true }]);
      await shop.transport.publish([envelope('a'), envelope('b'), envelope(workflowType('w'))]);
      for (let i = 0; i < 3; i += 1) {
        const delivery = await next(shop);
        await delivery.commit(delivery.envelope.type === 'b' ? failed('no') : completed());
      }
      const types = ['a', 'b', 'unknown'];
      const { activity, total, retainsDeadLetters } = await shop.transport.lookup.overview({
        types,
        runTypes: [],
        runLimit: 1,
      });
      expect(activity.map(({ recent }) => recent.last5Min.received)).toEqual([1, 1, 0]);
      expect(activity.map(({ lastFailure }) => lastFailure?.message)).toEqual([undefined, 'no', undefined]);
      expect(total.recent.last5Min).toMatchObject({ received: 2, completed: 1, failed: 1 });
      expect(sum(total.histories.hours.received)).toBe(2);
      expect(retainsDeadLetters).toBe(true);
    });

    it('count a range in whole minutes', async () => {
      const shop = await consume(['a', 'b']);
      await shop.transport.publish([envelope('a'), envelope('a')]);
      const at = await now();
      const { from, to, stepMs, counts } = await shop.transport.counts.range(['a', 'b'], at - 120_000, at + 1);
      expect(stepMs).toBe(60_000);
      expect([from % 60_000, to % 60_000]).toEqual([0, 0]);
      expect(from).toBeLessThanOrEqual(at - 120_000);
      expect(to).toBeGreaterThan(at);
      expect(counts.map(({ received }) => received)).toEqual([2, 0]);
      const earlier = await shop.transport.counts.range(['a'], at - 40 * 60_000, at - 20 * 60_000);
      expect(earlier.counts.map(({ received }) => received)).toEqual([0]);
    });

    it('name the oldest pending event and the open dead letters', async () => {
      const shop = await consume(['a']);
      const before = await now();
      await shop.transport.publish([envelope('a')]);
      await advance(20);
      const between = await now();
      await shop.transport.publish([envelope('a', { priority: 1 })]);
      const both = [await next(shop), await next(shop)];
      const [first, second] = [0, 1].map((priority) => both.find(({ envelope: sent }) => sent.priority === priority));
      if (first === undefined || second === undefined) throw new Error('both events are delivered');
      const oldest = async (): Promise<number | undefined> => (await counts(shop.transport, 'a')).oldestPendingAt;
      expect(await oldest()).toBeGreaterThanOrEqual(before);
      expect(await oldest()).toBeLessThan(between);
      await first.commit(failed('no'));
      expect(await oldest()).toBeGreaterThanOrEqual(between);
      await second.commit(completed());
      expect(await oldest()).toBeUndefined();
      expect(await counts(shop.transport, 'a')).toMatchObject({ deadLetters: 1 });
      expect(await shop.transport.deadLetters.replay(first.envelope.id)).toBe(true);
      expect(await counts(shop.transport, 'a')).toMatchObject({ deadLetters: 0, pending: 1 });
    });

    it('measure durations with an error of at most 10 %, and the exact maximum', async () => {
      const shop = await consume(['a']);
      for (let ms = 1; ms <= 100; ms += 1) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit({ ...completed(), durationMs: ms });
      }
      const { durationMs } = await shop.transport.counts.metrics('a');
      for (const { p50, p95, max } of [durationMs.last5Min, durationMs.lastHour]) {
        expect(Math.abs((p50 ?? 0) - 50)).toBeLessThanOrEqual(6);
        expect(Math.abs((p95 ?? 0) - 95)).toBeLessThanOrEqual(10.5);
        expect(max).toBe(100);
      }
    });

    it('have the exact maximum of durations that are all the same, which no percentile exceeds', async () => {
      const shop = await consume(['a']);
      for (let count = 0; count < 20; count += 1) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit({ ...completed(), durationMs: 26_000 });
      }
      const { durationMs } = await shop.transport.counts.metrics('a');
      for (const { p50, p95, p99, max } of [durationMs.last5Min, durationMs.lastHour]) {
        expect(max).toBe(26_000);
        for (const percentile of [p50, p95, p99]) {
          expect(percentile).toBeGreaterThanOrEqual(23_400);
          expect(percentile).toBeLessThanOrEqual(26_000);
        }
      }
    });

    it('count all durations by length', async () => {
      const shop = await consume(['a', 'b']);
      for (const durationMs of [0, 3, 30, 30, 3_000, 4 * 24 * 3_600_000]) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit({ ...completed(), durationMs });
      }
      const [a, b, unknown] = await shop.transport.counts.durations(['a', 'b', 'unknown']);
      const upTo = (boundMs: number): number =>
        sum((a?.durationMs.counts ?? []).slice(0, durationBoundsMs.indexOf(boundMs) + 1));
      expect([1, 5, 25, 50, 2_500, 5_000, 86_400_000].map(upTo)).toEqual([1, 2, 2, 4, 4, 5, 5]);
      const { counts, sumMs } = a?.durationMs ?? { counts: [], sumMs: 0 };
      expect([counts.length, sum(counts)]).toEqual([durationBoundsMs.length + 1, 6]);
      expect(Math.abs(sumMs / (3_063 + 4 * 24 * 3_600_000) - 1)).toBeLessThan(0.1);
      expect(sum(a?.waitMs.counts ?? [])).toBe(6);
      for (const none of [b, unknown]) {
        expect(none?.waitMs).toEqual({ counts: counts.map(() => 0), sumMs: 0 });
        expect(none?.durationMs).toEqual(none?.waitMs);
      }
    });

    it('have a revision that changes if and only if they change', async () => {
      const shop = await consume(['a', 'b']);
      const { transport } = shop;
      const revisions = async (): Promise<string[]> => [
        await transport.counts.revision(),
        await transport.counts.revision('a'),
        await transport.counts.revision('b'),
      ];
      const change = async () => {
        const minute = minuteOf(transport);
        const before = await revisions();
        const unchanged = await revisions();
        await transport.publish([envelope('a')]);
        const delivery = await next(shop);
        const during = await revisions();
        await delivery.commit(completed());
        const after = await revisions();
        return { minute, before, unchanged, during, after };
      };
      let seen = await change();
      // The end of a minute changes every revision.
      while (minuteOf(transport) !== seen.minute) seen = await change();
      const { before, unchanged, during, after } = seen;
      expect(unchanged).toEqual(before);
      expect(during[0]).not.toBe(before[0]);
      expect(during[1]).not.toBe(before[1]);
      expect(during[2]).toBe(before[2]);
      expect(after[1]).not.toBe(during[1]);
    });
  });
}

function minuteOf({ clock }: TransportManager): number {
  return Math.floor(clock.now() / 60_000);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
