import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, FailedOutcome, Outcome, Subscription } from '../../delivery.js';
import type { EventRecord } from '../../event-record.js';
import { retainedRecent, retainedWaits } from '../../limits.js';
import type { DeadLetterStore, TransportManager } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';
import { maxDeadLetters } from './dead-letters.js';

/** Tests lookups by id, request and type. */
export function describeLookups({ advance, consume, counts, next, now, until }: ContractStage): void {
  const runs: Subscription = { type: 'run', retainsRuns: true, retain: { completed: 2, failed: 2 } };

  async function findOne(transport: TransportManager, id: string, bodies = false): Promise<EventRecord | undefined> {
    const found = await transport.lookup.find(id, { bodies });
    expect(found.length).toBeLessThanOrEqual(1);
    return found[0];
  }

  async function end(shop: Consumption, outcome: Outcome, count = 1): Promise<void> {
    for (let left = count; left > 0; left -= 1) await (await next(shop)).commit(outcome);
  }

  function cancelledOutcome(): FailedOutcome {
    return {
      status: 'failed',
      cancelled: true,
      durationMs: 0,
      error: { name: 'CancelledError', message: 'no' },
      followUps: [],
    };
  }

  describe('lookups', () => {
    it('show a delayed event, and one that waits for its retry', async () => {
      const shop = await consume(['a']);
      const { transport } = shop;
      const [late, retried] = [envelope('a', { delayMs: 60_000 }), envelope('a')];
      const before = await now();
      await transport.publish([late, retried]);
      const delayed = await findOne(transport, late.id);
      expect(delayed).toMatchObject({ id: late.id, status: 'delayed', attempt: 1, attempts: [], endedAt: undefined });
      expect(delayed?.acceptedAt).toBeGreaterThanOrEqual(before);
      expect(delayed?.dueAt).toBeGreaterThanOrEqual(before + 60_000);
      await end(shop, retry(60_000, 'not yet'));
      expect(await findOne(transport, retried.id)).toMatchObject({
        status: 'delayed',
        attempt: 2,
        attempts: [{ attempt: 1, error: { name: 'Error', message: 'not yet' } }],
      });
    });

    it('follow one event through its attempts, without its payload', async () => {
      const shop = await consume(['a']);
      const { transport } = shop;
      const sent = envelope('a', { body: '"private"', requestId: 'r-1', causeId: 'c-1', delayMs: 30 });
      const { id } = sent;
      const before = await now();
      await transport.publish([sent]);
      const identity = { id, type: 'a', service: 'shop', requestId: 'r-1', causeId: 'c-1', body: undefined };
      const first = await next(shop);
      const active = await findOne(transport, id);
      expect(active).toMatchObject({ ...identity, status: 'active', attempts: [{ attempt: 1 }] });
      expect(active?.attempts[0]).not.toHaveProperty('endedAt');
      await first.commit(retry(30, 'not yet'));
      await (await next(shop)).commit(failed('never'));
      const ended = await findOne(transport, id);
      expect(ended).toMatchObject({
        ...identity,
        status: 'failed',
        attempt: 2,
        attempts: [
          { attempt: 1, error: { message: 'not yet' } },
          { attempt: 2, error: { message: 'never' } },
        ],
        error: { name: 'Error', message: 'never' },
        isDeadLetter: true,
      });
      for (const { startedAt, endedAt = 0 } of ended?.attempts ?? []) {
        expect(startedAt).toBeGreaterThanOrEqual(before);
        expect(endedAt).toBeGreaterThanOrEqual(startedAt);
      }
      expect(await findOne(transport, id, true)).toMatchObject({ body: '"private"' });
      expect(await transport.lookup.find('unknown')).toEqual([]);
    });

    it('page through all retained runs, newest first, then the dead letters whose runs are gone', async () => {
      const shop = await consume([runs]);
      const { lookup } = shop.transport;
      const sent = Array.from({ length: 9 }, () => envelope('run', { service: 'shop', body: '"private"' }));
      for (const one of sent) {
        await shop.transport.publish([one]);
        await advance(2);
      }
      await end(shop, failed('never'), 4);
      await end(shop, completed(), 3);
      const active = [await next(shop), await next(shop)];
      const read = async (between: () => unknown): Promise<EventRecord[]> => {
        const found: EventRecord[] = [];
        let after: string | undefined;
        do {
          const page = await lookup.runs('run', 'shop', { limit: 2, after });
          expect(page.events.length).toBeLessThanOrEqual(2);
          found.push(...page.events);
          if (after === undefined) await between();
          after = page.after;
        } while (after !== undefined);
        return found;
      };
      // Evicted are the oldest completed run and the two oldest failed ones, of which one is still a dead letter.
      const retained = [8, 7, 6, 5, 3, 2, 1].map((index) => sent[index]?.id);
      await until(async () => (await read(() => {})).length === retained.length);
      const found = await read(() => shop.transport.publish([envelope('run', { service: 'shop' })]));
      expect(found.map(({ id }) => id)).toEqual(retained);
      expect(found.map(({ status }) => status)).toEqual([
        ...['active', 'active', 'completed', 'completed', 'failed', 'failed', 'failed'],
      ]);
      expect(found.map(({ run }) => run !== undefined)).toEqual([...new Array(6).fill(true), false]);
      expect(found.filter(({ isDeadLetter }) => isDeadLetter)).toHaveLength(maxDeadLetters);
      for (const event of found) {
        expect(event).toMatchObject({ service: 'shop', type: 'run' });
        expect(event.body).not.toBe('"private"');
      }
      expect(await lookup.runs('run', 'mail', { limit: 2 })).toMatchObject({ events: [] });
      for (const delivery of active) expect(await delivery.commit(completed())).toBe('ok');
    });

    it('retain the first attempt and the latest ones', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a');
      await shop.transport.publish([sent]);
      for (let attempt = 1; attempt < 14; attempt += 1) await end(shop, retry(0, `no ${attempt}`));
      await end(shop, completed());
      const found = await findOne(shop.transport, sent.id);
      expect(found?.attempts.map(({ attempt }) => attempt)).toEqual([1, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
      expect(found).toMatchObject({ status: 'completed', attempt: 14, error: undefined, isDeadLetter: false });
      expect(found?.attempts.at(-1)).not.toHaveProperty('error');
    });

    it('show interrupted attempts, of runs too, until their end', async () => {
      const first = await consume(['a', runs]);
      const sent = [envelope('a'), envelope('run')];
      await first.transport.publish(sent);
      const interrupted = [await next(first), await next(first)];
      const started = await Promise.all(sent.map(({ id }) => findOne(first.transport, id)));
      await first.transport.close({ drainMs: 0 });
      const second = await consume(['a', runs]);
      const isInterrupted = true;
      const recorded = { attempt: 1, startedAt: expect.any(Number), endedAt: expect.any(Number), isInterrupted };
      const again = [await next(second), await next(second)];
      const idsOf = (each: readonly Delivery[]): string[] => each.map(({ envelope: { id } }) => id).sort();
      // Types have no order among each other.
      expect(idsOf(again)).toEqual(idsOf(interrupted));
      const byType = new Map(again.map((delivery) => [delivery.envelope.type, delivery]));
      const [event, run] = [byType.get('a'), byType.get('run')];
      expect((await findOne(second.transport, sent[0]?.id ?? ''))?.attempts).toEqual([
        { ...recorded, startedAt: started[0]?.attempts[0]?.startedAt },
        { attempt: 1, startedAt: expect.any(Number) },
      ]);
      expect((await findOne(second.transport, sent[1]?.id ?? ''))?.attempts).toEqual([recorded]);
      await event?.commit(retry(0));
      await (await next(second)).commit(completed());
      await run?.wait([{ key: 'event:a', event: { type: 'reply', key: undefined } }]);
      await run?.commit(suspended(0));
      expect(await findOne(second.transport, sent[1]?.id ?? '')).toMatchObject({
        status: 'suspended',
        attempts: [recorded],
      });
      await second.transport.publish([envelope('reply')]);
      await end(second, completed());
      const ended = await Promise.all(sent.map(({ id }) => findOne(second.transport, id)));
      expect(ended[0]?.attempts).toMatchObject([recorded, { attempt: 1, error: {} }, { attempt: 2 }]);
      expect(ended[0]?.attempts.map(({ isInterrupted: is }) => is)).toEqual([true, undefined, undefined]);
      expect(ended[1]).toMatchObject({ status: 'completed', attempts: [recorded] });
      const [lost] = ended[0]?.attempts ?? [];
      expect(lost?.endedAt).toBeGreaterThanOrEqual(lost?.startedAt ?? Number.NaN);
    });

    it('show the waits that were open when a run ended, without what they would have emitted', async () => {
      const shop = await consume([runs, { type: 'child', retainsRuns: true }]);
      const { transport } = shop;
      for (const status of ['cancelled', 'failed', 'completed'] as const) {
        const sent = envelope('run', { requestId: `r-${status}` });
        await transport.publish([sent]);
        const delivery = await next(shop);
        const { id, type } = delivery.envelope;
        const child = envelope('child', { parent: { type, id, wait: 'invoke:c' }, delayMs: 600_000 });
        const event = { type: 'reply', key: 'k' };
        const before = await now();
        await delivery.wait([{ key: 'sleep:a', delayMs: 600_000 }]);
        await delivery.wait([{ key: 'event:b', event, onCancel: [envelope('no', { body: '"private"' })] }]);
        await delivery.wait([{ key: 'invoke:c', run: child }]);
        await delivery.wait([{ key: 'approval:d', event, isApproval: true }]);
        if (status !== 'cancelled') await delivery.commit(status === 'failed' ? failed('no') : completed());
        else {
          await delivery.commit(suspended(0));
          expect(await transport.runs.end('run', id, cancelledOutcome(), new Error('no'))).toBe('ok');
        }
        const since = expect.any(Number);
        const found = await findOne(transport, id, true);
        expect(found?.endedAt).toEqual(since);
        expect(new Set(found?.run?.waits)).toEqual(
          new Set([
            { key: 'sleep:a', since, dueAt: since },
            { key: 'event:b', since, event },
            { key: 'invoke:c', since, runId: child.id },
            { key: 'approval:d', since, event, isApproval: true },
          ]),
        );
        for (const wait of found?.run?.waits ?? []) expect(wait.since).toBeGreaterThanOrEqual(before);
        expect(JSON.stringify(found)).not.toContain('private');
        expect(await counts(transport, 'run')).toMatchObject({ suspended: 0 });
        if (status === 'failed') {
          await transport.deadLetters.replay(id);
          const replayed = await next(shop);
          expect((await findOne(transport, id))?.run?.waits).toEqual([]);
          await replayed.commit(completed());
          expect((await findOne(transport, id))?.run?.waits).toEqual([]);
        }
        await transport.lookup.erase(`r-${status}`);
        expect((await findOne(transport, id))?.run?.waits).toEqual([]);
      }
    });

    it('retain the oldest waits of a run that ended', async () => {
      const shop = await consume([runs]);
      await shop.transport.publish([envelope('run')]);
      const delivery = await next(shop);
      const keys = Array.from({ length: retainedWaits + 20 }, (_, n) => `sleep:${String(n).padStart(3, '0')}`);
      await delivery.wait(keys.map((key) => ({ key, delayMs: 600_000 })));
      await delivery.commit(completed());
      const found = await findOne(shop.transport, delivery.envelope.id);
      expect(found?.run?.waits.map(({ key }) => key)).toEqual(keys.slice(0, retainedWaits));
    });

    it('keep failed events apart from the newest ones, and forget the others', async () => {
      const shop = await consume(['a'], { concurrency: 1 });
      const { transport } = shop;
      const sent = Array.from({ length: retainedRecent + 16 }, (_, n) =>
        envelope('a', n % 2 === 0 ? {} : { requestId: `r-${n}` }),
      );
      await transport.publish(sent.slice(0, 1));
      await end(shop, failed('no'));
      await transport.publish(sent.slice(1));
      await end(shop, completed(), sent.length - 1);
      const { newest, failed: failures } = await transport.lookup.recent('a');
      expect(failures).toMatchObject([{ id: sent[0]?.id, status: 'failed', error: { message: 'no' } }]);
      expect(newest).toHaveLength(retainedRecent);
      expect(new Set(newest.map(({ id }) => id)).size).toBe(retainedRecent);
      expect(newest.filter(({ status }) => status === 'completed').length).toBeGreaterThanOrEqual(retainedRecent - 1);
      expect(newest.every(({ body }) => body === undefined)).toBe(true);
      expect(await transport.lookup.find(sent[0]?.id ?? '')).toHaveLength(1);
      expect(await transport.lookup.find(sent.at(-1)?.id ?? '')).toHaveLength(1);
      expect(await transport.lookup.find(sent[1]?.id ?? '')).toEqual([]);
      expect((await transport.lookup.request(sent[1]?.requestId ?? '')).events).toEqual([]);
    });

    it('retain the newest events of each type when many of several types end at once', async () => {
      const shop = await consume(['a', 'b'], { concurrency: 300 });
      const { transport } = shop;
      const perType = 2 * retainedRecent;
      const sent = Array.from({ length: 2 * perType }, (_, n) => envelope(n % 2 === 0 ? 'a' : 'b'));
      await transport.publish(sent);
      await until(() => shop.waiting.length === sent.length);
      const deliveries = sent.map(() => shop.shift());
      // Every second one of `b` fails.
      const failures = deliveries.filter(({ envelope: { type } }) => type === 'b').filter((_, n) => n % 2 === 0);
      await Promise.all(
        deliveries.map((delivery) => delivery.commit(failures.includes(delivery) ? failed('no') : completed())),
      );
      for (const type of ['a', 'b']) {
        const ended = deliveries.filter((each) => each.envelope.type === type && !failures.includes(each));
        const found = await Promise.all(ended.map(({ envelope: { id } }) => transport.lookup.find(id)));
        const isNewest = ended.map((_, index) => index >= ended.length - retainedRecent);
        expect(found.map((events) => events.length === 1)).toEqual(isNewest);
      }
    });

    it('list what waits, is delayed and runs beside what has ended', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const { transport } = shop;
      const sent = [envelope('a'), envelope('a'), envelope('a'), envelope('a', { delayMs: 60_000 })];
      await transport.publish(sent);
      await end(shop, completed());
      await next(shop);
      const { newest } = await transport.lookup.recent('a');
      const statuses = new Map(newest.map(({ id, status }) => [id, status]));
      expect(sent.map(({ id }) => statuses.get(id))).toEqual(['completed', 'active', 'waiting', 'delayed']);
      expect((await transport.lookup.recent('unknown')).newest).toEqual([]);
    });

    it('show each service that receives an event, and events by key', async () => {
      const shop = await consume(['a']);
      const mail = await consume([{ type: 'a', perKey: { concurrency: 1 } }], { service: 'mail' });
      const sent = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish(sent);
      await end(shop, completed(), 2);
      await next(mail);
      const found = await mail.transport.lookup.find(sent[1]?.id ?? '');
      expect(found.map(({ service, status }) => [service, status]).sort()).toEqual([
        ['mail', 'waiting'],
        ['shop', 'completed'],
      ]);
      const { newest } = await shop.transport.lookup.recent('a');
      expect(newest.filter(({ service }) => service === 'mail')).toHaveLength(2);
    });

    it('collect the events and runs of a request, whatever its id', async () => {
      const shop = await consume(['a', 'b', runs]);
      const { transport } = shop;
      for (const requestId of ['r-1', 'r', 'r"', 'a","b', 'a\n b', '日本', '']) {
        const [cause, other] = [envelope('a', { requestId }), envelope('a')];
        const [run, waiting] = [
          envelope('run', { requestId, causeId: cause.id }),
          envelope('b', { requestId, causeId: cause.id, delayMs: 60_000 }),
        ];
        await transport.publish([cause, other]);
        await (await next(shop)).commit(completed([run, waiting]));
        await (await next(shop)).commit(failed('another request'));
        const started = await next(shop);
        await started.checkpoint('pick', '{"by":"a"}');
        await started.commit(completed());
        const { events, isTruncated } = await transport.lookup.request(requestId);
        expect(isTruncated).toBe(false);
        const byId = new Map(events.map((event) => [event.id, event]));
        expect([...byId.keys()].sort()).toEqual([cause.id, run.id, waiting.id].sort());
        expect(events.every((event) => event.requestId === requestId)).toBe(true);
        expect(byId.get(waiting.id)).toMatchObject({ status: 'delayed', causeId: cause.id });
        expect(byId.get(run.id)).toMatchObject({ status: 'completed', causeId: cause.id });
        expect([...(byId.get(run.id)?.run?.checkpoints.keys() ?? [])]).toEqual(['pick']);
      }
    });

    it('find runs as long as they or their dead letters are retained', async () => {
      const shop = await consume([runs]);
      const { transport } = shop;
      await transport.publish(Array.from({ length: 8 }, () => envelope('run')));
      const ended: Envelope[] = [];
      for (let index = 0; index < 8; index += 1) {
        const delivery = await next(shop);
        await delivery.commit(index < 4 ? completed() : failed('no'));
        ended.push(delivery.envelope);
      }
      const isFound = await Promise.all(ended.map(async ({ id }) => (await transport.lookup.find(id)).length));
      // Two completed ones, two failed ones, and the failed ones that are dead letters.
      expect(maxDeadLetters).toBe(3);
      expect(isFound).toEqual([0, 0, 1, 1, 0, 1, 1, 1]);
      const requests = await Promise.all(
        ended.map(async ({ requestId }) => (await transport.lookup.request(requestId)).events.length),
      );
      expect(requests).toEqual(isFound);
    });

    it('forget the failure of an event that is replayed', async () => {
      const shop = await consume(['a']);
      const { transport } = shop;
      const sent = envelope('a');
      await transport.publish([sent]);
      await end(shop, failed('no'));
      await transport.deadLetters.replay(sent.id);
      const again = await next(shop);
      expect(await findOne(transport, sent.id)).toMatchObject({ status: 'active', attempt: 1, isDeadLetter: false });
      await again.commit(completed());
      expect(await findOne(transport, sent.id)).toMatchObject({ status: 'completed' });
      expect(await transport.lookup.recent('a')).toMatchObject({ newest: [{ id: sent.id }], failed: [] });
      expect((await transport.lookup.request(sent.requestId)).events).toHaveLength(1);
    });

    it('show cancelled events, which never ran, and do not count them as failed', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a', { delayMs: 60_000, requestId: 'r-1', causeId: 'c-1' });
      await shop.transport.publish([sent]);
      await shop.transport.runs.cancel(sent.id, cancelledOutcome);
      expect(await findOne(shop.transport, sent.id)).toMatchObject({
        status: 'cancelled',
        requestId: 'r-1',
        causeId: 'c-1',
        attempts: [],
        error: { name: 'CancelledError' },
        isDeadLetter: false,
      });
      expect((await shop.transport.lookup.recent('a')).failed).toEqual([]);
    });

    it('follow an event whose payload is replaced to the request of the later one', async () => {
      const shop = await consume([{ type: 'a', debounce: { ms: 100 } }]);
      const { transport } = shop;
      const [first, second] = [envelope('a'), envelope('a')];
      await transport.publish([first, second]);
      expect((await transport.lookup.request(second.requestId)).events).toMatchObject([{ id: first.id }]);
      expect((await transport.lookup.request(first.requestId)).events).toEqual([]);
      await end(shop, completed());
      expect((await transport.lookup.request(second.requestId)).events).toMatchObject([{ status: 'completed' }]);
    });

    it('filter dead letters by request and time', async () => {
      const shop = await consume(['a']);
      const { transport } = shop;
      const requests = ['r-1', 'r-2', 'r-1'];
      for (const requestId of requests) {
        const before = await now();
        await until(async () => (await now()) > before);
        await transport.publish([envelope('a', { requestId })]);
        await end(shop, failed('no'));
      }
      const all = await transport.deadLetters.list('a', 9);
      const idsOf = async (...query: Parameters<DeadLetterStore['list']>): Promise<string[]> =>
        (await transport.deadLetters.list(...query)).map(({ envelope: { id } }) => id);
      const [third, second, first] = all.map(({ envelope: { id } }) => id);
      expect(await idsOf('a', 9, { requestId: 'r-1' })).toEqual([third, first]);
      expect(await idsOf('a', 1, { requestId: 'r-1' })).toEqual([third]);
      expect(await idsOf('a', 9, { since: all[1]?.at })).toEqual([third, second]);
      expect(await idsOf('a', 9, { since: all[1]?.at, requestId: 'r-1' })).toEqual([third]);
      expect(await idsOf('b', 9, { requestId: 'r-1' })).toEqual([]);
    });
  });
}
