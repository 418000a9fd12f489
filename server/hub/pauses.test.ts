import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { pausesKey } from '../transports/stored-keys.js';
import { silentLogger } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import { UnknownTargetError } from './errors.js';
import { deferred, testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import type { HubOptions } from './hub-options.js';
import { createWorkflow } from './runs/workflow.js';

const ada = { reason: 'card provider is down', by: 'ada' };

describe.each(everyTransport)('pauses on the %s transport', (_name, createTransport) => {
  function newHub(options: HubOptions = {}): Hub {
    const hub = createHub({ transport: createTransport(), ...options });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  it('are seen by all hubs of the transport within a second, and outlive them', async () => {
    const transport = createTransport();
    const handled: number[] = [];
    const later = deferred();
    const start = async (service: string): Promise<Hub> => {
      const hub = newHub({ transport, service });
      hub.event<number>({ type: 'paid', handler: ({ payload }) => void handled.push(payload) });
      hub.event({ type: 'later', handler: () => later.resolve() });
      await hub.start();
      return hub;
    };
    const web = newHub({ transport, service: 'web', observer: true });
    const shop = await start('shop');
    await web.start();
    await web.pause({ type: 'paid' }, ada);
    await vi.waitFor(
      async () => expect(await shop.pauses()).toMatchObject([{ target: { type: 'paid' }, ...ada }]),
      2_000,
    );
    await shop.emit('paid', 1);
    await shop.stop();
    const next = await start('shop');
    await next.emit('paid', 2);
    await next.emit('later', null);
    await later.promise;
    expect(handled).toEqual([]);
    expect(await next.metrics('paid')).toMatchObject({ received: 2, pending: 2, active: 0 });
    expect(await web.resume({ type: 'paid' }, { by: 'bob' })).toBe(true);
    await vi.waitFor(() => expect(handled.toSorted()).toEqual([1, 2]), 5_000);
    expect(await web.resume({ type: 'paid' }, { by: 'bob' })).toBe(false);
    expect(await web.pauses()).toEqual([]);
  });

  it('stop a run before its next step: the one that runs is recorded once, and later ones begin after the resume', async () => {
    const hub = newHub();
    const [begun, go] = [deferred(), deferred()];
    const steps: string[] = [];
    const answered = hub.event<string>({ type: 'answered', key: (text) => text });
    const child = hub.workflow(createWorkflow({ name: 'child', run: () => void steps.push('child') }));
    const workflow = hub.workflow(
      createWorkflow({
        name: 'fulfil',
        run: async ({ step }) => {
          const [, answer] = await Promise.all([
            step.run('one', async () => {
              steps.push('one');
              begun.resolve();
              await go.promise;
            }),
            step.waitForEvent('answer', answered, { key: 'yes' }),
          ]);
          await step.run('two', () => void steps.push('two'));
          await step.invoke('child', child, null);
          return answer;
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(workflow, null);
    await begun.promise;
    const waiting = expect.objectContaining({ name: 'answer', status: 'waiting' });
    await vi.waitFor(async () => expect((await hub.getRun(workflow, run.runId)).steps).toContainEqual(waiting), 5_000);
    await hub.pause({ workflow: 'fulfil' }, ada);
    go.resolve();
    await hub.emit(answered, 'yes');
    await vi.waitFor(async () => {
      const { workflows } = await hub.introspect();
      const fulfil = workflows.find(({ name }) => name === 'fulfil');
      expect(fulfil).toMatchObject({ paused: ada, metrics: { pending: 1, active: 0, delayed: 0, suspended: 0 } });
    }, 5_000);
    expect(steps).toEqual(['one']);
    await hub.resume({ workflow: 'fulfil' }, { by: 'ada' });
    expect(await run.result()).toBe('yes');
    expect(steps).toEqual(['one', 'two', 'child']);
  });

  it('are not health problems, and name who paused, since when and why', async () => {
    const hub = newHub({
      redact: ({ name, message }) => ({ name, message: message.replaceAll('provider', '[name]') }),
    });
    hub.event({ type: 'paid', handler: () => {} });
    hub.event({ type: 'mailed', handler: () => {} });
    await hub.start();
    const before = await hub.revision();
    await hub.pause({ service: 'hub' }, ada);
    expect(await hub.revision()).not.toBe(before);
    for (let sent = 0; sent < 101; sent += 1) await hub.emit('paid', sent);
    const shown = { ...ada, reason: 'card [name] is down', since: expect.any(Number) };
    expect(await hub.health()).toEqual({
      status: 'ok',
      problems: [],
      problemCount: 0,
      paused: [{ target: { service: 'hub' }, ...shown }],
    });
    const { events } = await hub.introspect();
    expect(events.map(({ type, paused }) => [type, paused])).toEqual([
      ['paid', shown],
      ['mailed', shown],
    ]);
    await hub.resume({ service: 'hub' }, { by: 'ada' });
    await vi.waitFor(async () => expect((await hub.metrics('paid')).pending).toBe(0), 5_000);
    expect((await hub.introspect()).events.map(({ paused }) => paused)).toEqual([undefined, undefined]);
  });
});

describe('a pause', () => {
  it.each([
    ['last', [5]],
    ['all', [1, 2, 3, 4, 5]],
    ['none', []],
  ] as const)('of a schedule is made up for by catchUp %s', async (catchUp, missed) => {
    const { hub, clock } = testHub();
    const due: number[] = [];
    hub.event<number>({ type: 'tick', handler: ({ payload }) => void due.push(payload) });
    const startedAt = Math.floor(clock.now() / 60_000);
    const minute = (at: Date): number => at.getTime() / 60_000 - startedAt;
    hub.schedule({ name: 'poll', everyMs: 60_000, emit: 'tick', payload: minute, catchUp });
    await hub.start();
    await hub.pause({ schedule: 'poll' }, ada);
    await clock.advance(5 * 60_000 + 1_000);
    expect(due).toEqual([]);
    expect((await hub.introspect()).schedules).toMatchObject([{ name: 'poll', paused: ada }]);
    await hub.resume({ schedule: 'poll' }, { by: 'ada' });
    await clock.advance(0);
    expect(due).toEqual(missed);
    await clock.advance(60_000);
    expect(due).toEqual([...missed, 6]);
  });

  it('without an announcement is read after ten seconds, and nothing is read before', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { hub, transport } = testHub();
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    await vi.advanceTimersByTimeAsync(0);
    const read = vi.spyOn(hub.transport.kv, 'get');
    const { kv } = transport.connect({ service: 'other', logger: silentLogger });
    const stored = { target: { type: 'a' }, ...ada, since: 1 };
    await kv.set(pausesKey, JSON.stringify({ revision: 1, pauses: [stored] }));
    await vi.advanceTimersByTimeAsync(9_999);
    expect(read.mock.calls.flat()).not.toContain(pausesKey);
    await vi.advanceTimersByTimeAsync(1);
    expect(await hub.pauses()).toEqual([stored]);
  });

  it('of one target is independent of those of others', async () => {
    const { hub, clock } = testHub();
    const handled: string[] = [];
    for (const type of ['a', 'b']) hub.event({ type, handler: () => void handled.push(type) });
    await hub.start();
    await hub.pause({ type: 'a' }, ada);
    await hub.pause({ service: 'hub' }, { reason: 'deploy', by: 'bob' });
    await hub.pause({ service: 'hub' }, { reason: 'long deploy', by: 'eve' });
    expect(await hub.pauses()).toMatchObject([ada, { reason: 'long deploy', by: 'eve' }]);
    await hub.emit('a', null);
    await hub.emit('b', null);
    await hub.resume({ service: 'hub' }, { by: 'bob' });
    await clock.advance(1_000);
    expect(handled).toEqual(['b']);
    await hub.resume({ type: 'a' }, { by: 'ada' });
    await clock.advance(0);
    expect(handled).toEqual(['b', 'a']);
  });

  it('refuses more events than maxPending', async () => {
    const { hub } = testHub({ maxPending: 1 });
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    await hub.pause({ type: 'a' }, ada);
    await hub.emit('a', null);
    await expect(hub.emit('a', null)).rejects.toThrow('maxPending');
  });

  it('logs who pauses and resumes, and not why', async () => {
    const { hub, log } = testHub();
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    await hub.pause({ type: 'a' }, ada);
    await hub.resume({ type: 'a' }, { by: 'bob' });
    expect(log.filter(({ level }) => level === 'info')).toEqual([
      {
        level: 'info',
        fields: { action: 'pause', by: 'ada', via: 'code', type: 'a' },
        message: 'action recorded in the audit',
      },
      {
        level: 'info',
        fields: { action: 'resume', by: 'bob', via: 'code', type: 'a' },
        message: 'action recorded in the audit',
      },
    ]);
  });

  it.each([
    [{ type: 'order.placd' }, 'did you mean "order.placed"?'],
    [{ workflow: 'order.placed' }, 'hub.introspect() lists them'],
    [{ schedule: 'nightly' }, 'schedule "nightly" cannot be paused'],
    [{ service: 'shopp' }, 'did you mean "shop"?'],
  ])('of %o, which no hub registered, is refused', async (target, message) => {
    const { hub } = testHub({ service: 'shop' });
    hub.event({ type: 'order.placed', handler: () => {} });
    await hub.start();
    await expect(hub.pause(target, ada)).rejects.toThrow(UnknownTargetError);
    await expect(hub.pause(target, ada)).rejects.toThrow(message);
  });

  it.each<[unknown, unknown]>([
    [{}, ada],
    [{ type: 'a', service: 'hub' }, ada],
    [{ event: 'a' }, ada],
    ['a', ada],
    [{ type: 'a' }, { by: 'ada' }],
    [{ type: 'a' }, { reason: 'r' }],
    [{ type: 'a' }, { ...ada, reason: 'r'.repeat(513) }],
    [{ type: 'a' }, { ...ada, until: 5 }],
  ])('of %o with %o is refused', async (target, options) => {
    const { hub } = testHub();
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    // Untyped code passes anything.
    await expect(hub.pause(target as { type: string }, options as typeof ada)).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    );
    expect(await hub.pauses()).toEqual([]);
  });
});
