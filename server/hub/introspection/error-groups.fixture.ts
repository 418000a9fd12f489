import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { patienceMs } from '../../../scripts/test-projects.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { UnknownEventError } from '../errors.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import { createWorkflow } from '../runs/workflow.js';
import type { ErrorGroup } from './error-groups.js';

const retryAtOnce = { maxAttempts: 2, initialDelayMs: 0, jitter: false };

/** Tests error groups and releases on a transport. */
export function describeErrorGroups(name: string, createTransport: () => Transport): void {
  function newHub(options: HubOptions): Hub {
    const hub = createHub({ logger: false, ...options });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  async function ended(hub: Hub, type: string, failed: number): Promise<void> {
    await vi.waitFor(async () => expect(await hub.metrics(type)).toMatchObject({ failed, pending: 0 }), patienceMs);
  }

  const summary = ({ name, message, failures, attempts, deadLetters }: ErrorGroup): unknown[] => [
    ...[name, message, failures, attempts, deadLetters],
  ];

  describe(`error groups on the ${name} transport`, () => {
    it('count failures and attempts of all services, with their open dead letters', async () => {
      const transport = createTransport();
      const start = async (service: string, release: string): Promise<Hub> => {
        const hub = newHub({ transport, service, release });
        hub.event<string>({
          type: 'paid',
          retry: retryAtOnce,
          handler: ({ payload, attempt }) => {
            if (payload === 'once' && attempt === 2) return;
            throw payload === 'type' ? new TypeError('no method') : new Error(`card ${payload} of 4711 declined`);
          },
        });
        await hub.start();
        return hub;
      };
      const shop = await start('shop', 'v1');
      for (const payload of ['1', '2', 'type', 'once']) await shop.emit('paid', payload, { requestId: `r-${payload}` });
      await ended(shop, 'paid', 3);
      const [card, once, method] = ['card # of # declined', 'card once of # declined', 'no method'];
      await vi.waitFor(
        async () =>
          expect((await shop.errorGroups('paid')).map(summary).toSorted()).toEqual([
            ['Error', card, 2, 4, 2],
            ['Error', once, 0, 1, 0],
            ['TypeError', method, 1, 2, 1],
          ]),
        patienceMs,
      );
      const mail = await start('mail', 'v2');
      await mail.emit('paid', '3', { requestId: 'r-3' });
      await ended(mail, 'paid', 5);
      await vi.waitFor(async () => {
        const [found] = (await mail.errorGroups()).filter(({ message }) => message === card);
        expect(found).toMatchObject({ failures: 4, attempts: 8, deadLetters: 4 });
        expect(found).toMatchObject({ eventType: 'paid', firstRelease: 'v1' });
        expect(found?.newest.map(({ requestId, release }) => [requestId, release])).toEqual(
          expect.arrayContaining([
            ['r-3', 'v2'],
            ['r-3', 'v1'],
            ['r-1', 'v1'],
          ]),
        );
        expect(found?.history.reduce((sum, hour) => sum + hour.failures, 0)).toBe(4);
      }, patienceMs);
      const { id: errorGroup = '' } = (await mail.errorGroups('paid')).find(({ name }) => name === 'TypeError') ?? {};
      const letters = await shop.deadLetters('paid', { errorGroup });
      expect(letters.map(({ payload, requestId }) => [payload, requestId])).toEqual([['type', 'r-type']]);
      expect(await shop.deadLetters('paid', { errorGroup: 'none' })).toEqual([]);
      await expect(mail.errorGroups('unpaid')).rejects.toThrow(UnknownEventError);
    });

    it('lose a dead letter with its replay and its erasure, and the request with its erasure', async () => {
      const hub = newHub({ transport: createTransport() });
      let isFailing = true;
      hub.event<number>({
        type: 'paid',
        handler: ({ payload }) => {
          if (isFailing) throw new Error(`no ${payload}`);
        },
      });
      await hub.start();
      const sent = [await hub.emit('paid', 1, { requestId: 'a' }), await hub.emit('paid', 2, { requestId: 'b' })];
      await ended(hub, 'paid', 2);
      isFailing = false;
      await vi.waitFor(
        async () => expect(await hub.errorGroups('paid')).toMatchObject([{ failures: 2, deadLetters: 2 }]),
        patienceMs,
      );
      await hub.replay(sent[0]?.id ?? '');
      expect(await hub.errorGroups('paid')).toMatchObject([{ failures: 2, deadLetters: 1 }]);
      await hub.erase({ requestId: 'b' });
      const [group] = await hub.errorGroups('paid');
      expect(group).toMatchObject({ failures: 2, deadLetters: 0 });
      expect(group?.newest.map(({ requestId }) => requestId)).toEqual(['a']);
    });

    it('contain the failed attempts of steps, and the failures of runs by their step', async () => {
      const hub = newHub({ transport: createTransport() });
      const fulfil = hub.workflow(
        createWorkflow({
          name: 'fulfil',
          run: ({ step }) =>
            step.run(
              'charge',
              () => {
                throw new RangeError('limit 5 reached');
              },
              { retry: retryAtOnce },
            ),
        }),
      );
      await hub.start();
      const run = await hub.startWorkflow(fulfil, null);
      await run.result().catch(() => {});
      expect(await hub.errorGroups(fulfil)).toMatchObject([
        {
          workflow: 'fulfil',
          name: 'RangeError',
          message: 'limit # reached',
          failures: 1,
          attempts: 2,
          deadLetters: 1,
        },
      ]);
      const [group] = await hub.errorGroups();
      expect(group?.newest).toMatchObject([{ id: run.runId, step: 'charge' }]);
    });

    it('outlive the hub that counted them, up to the last failure of its drain', async () => {
      const transport = createTransport();
      const hub = newHub({ transport });
      let fail: (() => void) | undefined;
      hub.event({
        type: 'paid',
        handler: () =>
          new Promise((_, reject) => {
            fail = () => reject(new Error('late'));
          }),
      });
      await hub.start();
      await hub.emit('paid', null);
      // The event is leased before its handler begins.
      await vi.waitFor(() => expect(fail).toBeDefined(), patienceMs);
      const stopped = hub.stop();
      fail?.();
      await stopped;
      const next = newHub({ transport });
      next.event({ type: 'paid' });
      await next.start();
      expect(await next.errorGroups('paid')).toMatchObject([{ message: 'late', failures: 1 }]);
    });

    it('hold the 50 latest kinds of error per type, in one value that any number of failures leaves small', async () => {
      const hub = newHub({ transport: createTransport() });
      const letters = 'abcdefgh';
      hub.event<number>({
        type: 'paid',
        handler: ({ payload }) => {
          throw new Error(`kind ${letters[payload % 8]}${letters[Math.floor(payload / 8)]}`);
        },
      });
      await hub.start();
      await hub.emitMany(
        'paid',
        Array.from({ length: 64 }, (_, n) => n),
      );
      await ended(hub, 'paid', 64);
      const groups = await hub.errorGroups('paid');
      expect(groups.filter(({ attempts }) => attempts > 0).length).toBeGreaterThanOrEqual(50);
      expect(groups.reduce((sum, { deadLetters }) => sum + deadLetters, 0)).toBe(64);
      await vi.waitFor(async () => {
        await hub.errorGroups('paid');
        const stored = await hub.transport.kv.get('hubline:errors:paid');
        expect(JSON.parse(stored ?? '').groups).toHaveLength(50);
      }, patienceMs);
    });
  });

  describe(`releases on the ${name} transport`, () => {
    it('have the start of their first and the end of their last process', async () => {
      const transport = createTransport();
      const start = async (release: string): Promise<Hub> => {
        const hub = newHub({ transport, service: 'shop', release });
        hub.event({ type: 'paid', handler: () => {} });
        await hub.start();
        return hub;
      };
      const releasesOf = async (hub: Hub): Promise<(readonly [string, boolean])[]> =>
        (await hub.introspect()).releases.map(({ release, endedAt }) => [release, endedAt !== undefined] as const);
      const one = await start('v1');
      const same = await start('v1');
      expect(await releasesOf(one)).toEqual([['v1', false]]);
      const two = await start('v2');
      expect(await releasesOf(two)).toEqual([
        ['v1', false],
        ['v2', false],
      ]);
      expect((await two.processes()).map(({ release }) => release).toSorted()).toEqual(['v1', 'v1', 'v2']);
      await one.stop();
      await same.stop();
      await vi.waitFor(
        async () =>
          expect(await releasesOf(two)).toEqual([
            ['v1', true],
            ['v2', false],
          ]),
        patienceMs,
      );
      const back = await start('v1');
      expect(await releasesOf(back)).toEqual([
        ['v1', true],
        ['v2', false],
        ['v1', false],
      ]);
      const [first, second] = (await back.introspect()).releases;
      expect(first?.endedAt).toBeGreaterThanOrEqual(first?.startedAt ?? 0);
      expect(second?.startedAt).toBeGreaterThanOrEqual(first?.startedAt ?? 0);
    });
  });
  describe(`readiness and health on the ${name} transport`, () => {
    it('are ready from the start to the stop, whatever fails elsewhere', async () => {
      const transport = createTransport();
      const mail = newHub({ transport, service: 'mail' });
      mail.event({
        type: 'sent',
        handler: () => {
          throw new Error('no');
        },
      });
      expect(await mail.ready()).toEqual({ isReady: false, reason: 'not-started' });
      await mail.start();
      const web = newHub({ transport, service: 'web' });
      web.event({ type: 'viewed', handler: () => {} });
      await web.start();
      await mail.emit('sent', null);
      await ended(mail, 'sent', 1);
      expect(await mail.health()).toMatchObject({ status: 'failing', problems: [{ eventType: 'sent' }] });
      expect(await mail.health({ service: 'mail' })).toMatchObject({ status: 'failing' });
      expect(await mail.health({ service: 'web' })).toMatchObject({ status: 'ok', problems: [] });
      expect([await mail.ready(), await web.ready()]).toEqual([{ isReady: true }, { isReady: true }]);
      const stopping = web.stop();
      expect(await web.ready()).toEqual({ isReady: false, reason: 'draining' });
      await stopping;
      expect(await web.ready()).toEqual({ isReady: false, reason: 'draining' });
    });
  });
}
