import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { patienceMs } from '../../../scripts/test-projects.js';
import type { ApprovalDecided, ApprovalRequest } from '../../agents/agent/approval.js';
import { createAgent } from '../../agents/create-agent.js';
import { createTool } from '../../agents/tools/tool.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { systemClock } from '../../transports/clock.js';
import { loneEvents } from '../../transports/lone-events.js';
import { createHub } from '../create-hub.js';
import { UnknownEventError, UnknownEventIdError } from '../errors.js';
import { createEvent } from '../events/event.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import { createLimit } from '../limits/limit.js';
import { defineWorkflow } from '../runs/define-workflow.js';
import { createWorkflow } from '../runs/workflow.js';

function newHub(options: HubOptions): Hub {
  const hub = createHub({ logger: false, ...options });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return hub;
}

/** A promise, and a function that resolves it. */
function held(): { readonly promise: Promise<void>; readonly finish: () => void } {
  let finish = (): void => {};
  const promise = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { promise, finish };
}

describe.each(everyTransport)('an explanation on the %s transport', (name, createTransport) => {
  const explained = (hub: Hub, id: string, expected: object): Promise<void> =>
    vi.waitFor(async () => expect(await hub.explain(id)).toMatchObject(expected), patienceMs);

  it('names delay, retry, concurrency, pause and the lack of processes', async () => {
    const transport = createTransport();
    const hub = newHub({ transport, service: 'shop', release: 'v1' });
    const { promise, finish } = held();
    hub.event({ type: 'slow', concurrency: 1, handler: () => promise });
    hub.event({
      type: 'failing',
      retry: { maxAttempts: 2, initialDelayMs: 60_000, jitter: false },
      handler: () => {
        throw new Error('no');
      },
    });
    hub.event({ type: 'paid', rate: { max: 1, perMs: 60_000 }, handler: () => {} });
    await hub.start();
    const delayed = await hub.emit('slow', null, { delayMs: 60_000 });
    const { blockers, expectedAt } = await hub.explain(delayed.id);
    expect(blockers).toEqual([{ kind: 'delay', until: expectedAt }]);
    const first = await hub.emit('slow', null);
    await explained(hub, first.id, { status: 'active', blockers: [] });
    const second = await hub.emit('slow', null);
    await explained(hub, second.id, {
      status: 'waiting',
      waiting: 1,
      blockers: [{ kind: 'concurrency', limit: 1, holders: [{ id: first.id, since: expect.any(Number) }] }],
    });
    const retried = await hub.emit('failing', null);
    await explained(hub, retried.id, { blockers: [{ kind: 'retry', until: expect.any(Number) }] });
    await hub.emit('paid', null);
    await vi.waitFor(async () => expect((await hub.metrics('paid')).completed).toBe(1), patienceMs);
    const limited = await hub.emit('paid', null);
    await explained(hub, limited.id, { blockers: [{ kind: 'rate', limit: { max: 1 }, until: expect.any(Number) }] });
    await hub.pause({ type: 'paid' }, { reason: 'provider is down', by: 'ada' });
    await explained(hub, limited.id, { blockers: [{ kind: 'paused', by: 'ada', reason: 'provider is down' }] });
    await expect(hub.explain('unknown')).rejects.toThrow(UnknownEventIdError);
    const web = newHub({ transport, service: 'web' });
    web.event({ type: 'viewed', handler: () => {} });
    await web.start();
    finish();
    await hub.stop();
    if (name === 'memory') return;
    await explained(web, retried.id, {
      blockers: [{ kind: 'retry' }, { kind: 'no-process', release: 'v1', since: expect.any(Number) }],
    });
  });

  it('names what the steps of a run wait for, and busy processes', async () => {
    const hub = newHub({ transport: createTransport(), concurrency: 1 });
    const { promise, finish } = held();
    hub.event({ type: 'answered' });
    hub.event({ type: 'slow', handler: () => promise });
    hub.workflow(createWorkflow({ name: 'child', run: ({ step }) => step.sleep('nap', 60_000) }));
    hub.workflow(
      createWorkflow({
        name: 'parent',
        run: async ({ step }) => {
          await Promise.all([
            step.invoke('part', 'child', null),
            step.waitForEvent('answer', 'answered', { timeoutMs: 90_000 }),
          ]);
        },
      }),
    );
    await hub.start();
    const { runId } = await hub.startWorkflow('parent', null);
    await explained(hub, runId, {
      type: 'parent',
      status: 'suspended',
      blockers: expect.arrayContaining([
        expect.objectContaining({ kind: 'child-run', step: 'part', runId: expect.any(String) }),
        expect.objectContaining({
          kind: 'wait-event',
          step: 'answer',
          eventType: 'answered',
          until: expect.any(Number),
        }),
      ]),
    });
    const { blockers } = await hub.explain(runId);
    const child = blockers.find(({ kind }) => kind === 'child-run');
    const invokedBy = async () => (await hub.introspect()).workflows.map((workflow) => workflow.invokedBy);
    await vi.waitFor(async () => expect(await invokedBy()).toEqual([['parent'], undefined]), patienceMs);
    await explained(hub, child?.runId ?? '', { type: 'child', blockers: [{ kind: 'delay', step: 'nap' }] });
    const first = await hub.emit('slow', null);
    await explained(hub, first.id, { status: 'active' });
    const second = await hub.emit('slow', null);
    await explained(hub, second.id, { blockers: [{ kind: 'process-slots', processes: [{ active: 1, slots: 1 }] }] });
    finish();
  });

  it('names what holds the child runs of a run, behind the step that waits for each, of at most 10 runs', async () => {
    const hub = newHub({ transport: createTransport() });
    hub.workflow(createWorkflow({ name: 'child', run: ({ step }) => step.sleep('nap', 60_000) }));
    hub.workflow(createWorkflow({ name: 'middle', run: ({ step }) => step.invoke('part', 'child', null) }));
    hub.workflow(
      createWorkflow({
        name: 'parent',
        run: async ({ step }) => {
          await Promise.all(Array.from({ length: 8 }, (_, n) => step.invoke(`part ${n}`, 'middle', null)));
        },
      }),
    );
    await hub.start();
    const { runId } = await hub.startWorkflow('parent', null);
    const nested = (n: number): object[] => [
      { kind: 'child-run', step: `part ${n}` },
      { kind: 'child-run', child: 'middle', step: 'part' },
      { kind: 'delay', child: 'child', step: 'nap', until: expect.any(Number) },
    ];
    await explained(hub, runId, {
      blockers: [0, 1, 2, 3, 4, 5, 6, 7].flatMap((n) => nested(n).slice(0, n < 5 ? 3 : 1)),
    });
    expect((await hub.explain(runId)).blockers[0]).not.toHaveProperty('child');
  });

  it('names the key, and the limit that types share', async () => {
    const transport = createTransport();
    const hub = newHub({ transport, service: 'shop' });
    const { promise, finish } = held();
    const vendor = createLimit({ name: 'vendor', max: 1, perMs: 60_000 });
    hub.event<string>({ type: 'keyed', key: (name) => name, concurrencyPerKey: 1, handler: () => promise });
    hub.event({ type: 'charged', limit: vendor, handler: () => {} });
    await hub.start();
    const first = await hub.emit('keyed', 'ann');
    await explained(hub, first.id, { status: 'active' });
    const second = await hub.emit('keyed', 'ann');
    await explained(hub, second.id, {
      blockers: [{ kind: 'key', limit: 1, holders: [{ id: first.id }] }],
      waiting: 1,
    });
    await hub.emit('charged', null);
    await vi.waitFor(async () => expect((await hub.metrics('charged')).completed).toBe(1), patienceMs);
    const limited = await hub.emit('charged', null);
    await explained(hub, limited.id, {
      status: 'delayed',
      blockers: [{ kind: 'limit', limitName: 'vendor', limit: { max: 1, perMs: 60_000 }, until: expect.any(Number) }],
    });
    // Nothing that time alone ends: another event may take the start.
    expect(await hub.explain(limited.id)).not.toHaveProperty('expectedAt');
    finish();
  });

  it('names the version that a run needs', async () => {
    const transport = createTransport();
    const start = async (version: number): Promise<Hub> => {
      const hub = newHub({ transport, service: 'shop' });
      hub.event({ type: 'paid' });
      hub.workflow(
        createWorkflow({
          name: 'order',
          version,
          run: async ({ step }) => {
            await step.run('reserve', () => {});
            await step.waitForEvent('payment', 'paid', {});
          },
        }),
      );
      await hub.start();
      return hub;
    };
    const next = await start(2);
    const { runId } = await next.startWorkflow('order', null);
    await explained(next, runId, { blockers: [{ kind: 'wait-event' }] });
    const old = await start(1);
    await next.stop();
    await old.emit('paid', null);
    await explained(old, runId, { blockers: [{ kind: 'version', version: 2 }] });
    expect(await old.backlog('order')).toMatchObject({
      waiting: 0,
      bottlenecks: [{ service: 'shop', kind: 'version' }],
    });
  });

  it('names an approval that the call of a tool waits for', async () => {
    const hub = newHub({ transport: createTransport() });
    const requested = hub.event<ApprovalRequest>({ type: 'asked', handler: () => {} });
    const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    const agent = createAgent({
      name: 'clerk',
      systemPrompt: 'You book.',
      model: { model: 'scripted' },
      provider: scriptedProvider([{ toolCalls: [{ name: 'book', arguments: {} }] }]),
      tools: [
        createTool({
          name: 'book',
          description: '',
          parameters: { type: 'object' },
          needsApproval: true,
          execute: async () => 'done',
        }),
      ],
    });
    hub.event({ type: 'booking', handler: agent.asHandler({ approvals: { requested, decided } }) });
    await hub.start();
    const { id } = await hub.emit('booking', 'a seat');
    await explained(hub, id, {
      status: 'suspended',
      blockers: [{ kind: 'wait-approval', step: expect.stringContaining('book'), since: expect.any(Number) }],
    });
  });

  it('names the run that keeps an event, and what the inbox of a run keeps', async () => {
    const transport = createTransport();
    const paid = createEvent<{ order: string }>({ type: 'paid', key: ({ order }) => order });
    const shipping = defineWorkflow<{ order: string }, string>({
      name: 'shipping',
      service: 'shop',
      receives: [{ event: paid, key: ({ order }) => order }],
    });
    const hub = newHub({ transport, service: 'shop' });
    hub.event({ type: 'packed' });
    hub.event(paid);
    hub.workflow(
      createWorkflow(shipping, {
        run: async ({ step, input }) => {
          await step.waitForEvent('packing', 'packed');
          const { order } = await step.waitForEvent('payment', paid, { key: input.order });
          return order;
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(shipping, { order: 'o-1' });
    await explained(hub, run.runId, { status: 'suspended', blockers: [{ kind: 'wait-event', step: 'packing' }] });
    const first = await hub.emit(paid, { order: 'o-1' }, { requestId: 'checkout' });
    const second = await hub.emit(paid, { order: 'o-1' });
    expect(await hub.explain(first.id)).toEqual({
      id: first.id,
      type: 'paid',
      service: 'shop',
      status: 'waiting',
      blockers: [{ kind: 'inbox', runId: run.runId }],
    });
    expect(await hub.explain(run.runId)).toMatchObject({
      blockers: [
        { kind: 'wait-event', step: 'packing' },
        { kind: 'inbox', kept: 2, dropped: 0 },
      ],
    });
    await hub.erase({ requestId: 'checkout' });
    await expect(hub.explain(first.id)).rejects.toThrow(UnknownEventIdError);
    expect(await hub.explain(second.id)).toMatchObject({ blockers: [{ kind: 'inbox', runId: run.runId }] });
    await hub.emit('packed', null);
    expect(await run.result()).toBe('o-1');
    await expect(hub.explain(second.id)).rejects.toThrow(UnknownEventIdError);
  });

  it('names the event that has to run alone in its process', async () => {
    const hub = newHub({ transport: createTransport(), service: 'shop' });
    const { promise, finish } = held();
    hub.event({ type: 'slow', concurrency: 2, handler: () => promise });
    hub.event({ type: 'paid', handler: () => {} });
    await hub.start();
    const [suspect, other] = [await hub.emit('slow', null), await hub.emit('slow', null)];
    for (const { id } of [suspect, other]) await explained(hub, id, { status: 'active', blockers: [] });
    // As the transport does after crashes of processes that ran the event.
    const end = loneEvents.reserve({
      id: suspect.id,
      clock: systemClock,
      limitMs: 60_000,
      begin: () => {},
      recordShared: (recorded) => recorded(),
    });
    onTestFinished(() => end?.());
    const delayed = await hub.emit('paid', null);
    // A process reports its state with its heartbeats.
    const timeout = 2 * patienceMs;
    const [since, processes] = [expect.any(Number), [{ active: 2, slots: expect.any(Number) }]];
    await vi.waitFor(
      async () =>
        expect(await hub.explain(delayed.id)).toMatchObject({
          status: 'waiting',
          blockers: [{ kind: 'crash-isolation', since, holders: [{ id: suspect.id, since }], processes }],
        }),
      { timeout },
    );
    expect(await hub.explain(suspect.id)).toMatchObject({
      status: 'active',
      blockers: [{ kind: 'crash-isolation', since, processes }],
    });
    expect(await hub.explain(other.id)).toMatchObject({ status: 'active', blockers: [] });
    finish();
    end?.();
    await vi.waitFor(async () => expect((await hub.metrics('paid')).completed).toBe(1), patienceMs);
  });

  it('expects an event when it continues, within a factor of 2', async () => {
    const hub = newHub({ transport: createTransport() });
    const startedAt = new Map<string, number>();
    hub.event<string>({
      type: 'sent',
      retry: { maxAttempts: 2, initialDelayMs: 2_000, jitter: false },
      handler: async ({ payload, attempt }) => {
        startedAt.set(`${payload} ${attempt}`, await hub.transport.kv.now());
        if (payload === 'retried' && attempt === 1) throw new Error('no');
      },
    });
    await hub.start();
    const [delayed, retried] = await Promise.all([
      hub.emit('sent', 'delayed', { delayMs: 2_000 }),
      hub.emit('sent', 'retried'),
    ]);
    await explained(hub, retried.id, { status: 'delayed' });
    const explainedAt = await hub.transport.kv.now();
    const [ofDelay, ofRetry] = await Promise.all([hub.explain(delayed.id), hub.explain(retried.id)]);
    for (const [attempt, { expectedAt = Number.NaN }] of [
      ['delayed 1', ofDelay],
      ['retried 2', ofRetry],
    ] as const) {
      await vi.waitFor(() => expect(startedAt.has(attempt)).toBe(true), patienceMs);
      const [expected, actual] = [expectedAt - explainedAt, (startedAt.get(attempt) ?? Number.NaN) - explainedAt];
      expect(actual).toBeGreaterThanOrEqual(expected / 2);
      expect(actual).toBeLessThanOrEqual(expected * 2);
    }
  });
});

describe.each(everyTransport)('a backlog on the %s transport', (_, createTransport) => {
  it('has the events that wait in each service, their rates, and what holds them', async () => {
    const transport = createTransport();
    const shop = newHub({ transport, service: 'shop' });
    const { promise, finish } = held();
    shop.event<number>({
      type: 'paid',
      concurrency: 1,
      handler: ({ payload }) => (payload === 0 ? undefined : promise),
    });
    shop.workflow(createWorkflow({ name: 'ship', trigger: 'paid', run: async () => null }));
    await shop.start();
    expect(await shop.backlog('paid')).toEqual({
      type: 'paid',
      waiting: 0,
      inPerMinute: 0,
      outPerMinute: 0,
      bottlenecks: [],
    });
    await shop.emit('paid', 0);
    await vi.waitFor(async () => expect((await shop.metrics('paid')).completed).toBe(1), patienceMs);
    for (let n = 1; n <= 4; n += 1) await shop.emit('paid', n);
    await vi.waitFor(async () => expect((await shop.metrics('paid')).active).toBe(1), patienceMs);
    const found = await shop.backlog('paid');
    expect(found).toMatchObject({ waiting: 3, bottlenecks: [{ service: 'shop', kind: 'concurrency', limit: 1 }] });
    // Five arrived and one left within the five to six minutes that the counts cover.
    expect(found.inPerMinute / found.outPerMinute).toBeCloseTo(5);
    expect(found.inPerMinute).toBeGreaterThan(5 / 6 - 0.001);
    expect(found.inPerMinute).toBeLessThanOrEqual(1);
    expect(found).not.toHaveProperty('emptyAt');
    await shop.pause({ type: 'paid' }, { by: 'ada', reason: 'the bank is down' });
    const paused = [{ service: 'shop', kind: 'paused', by: 'ada', reason: 'the bank is down' }];
    await vi.waitFor(async () => expect((await shop.backlog('paid')).bottlenecks).toMatchObject(paused), patienceMs);
    expect(await shop.backlog('ship')).toMatchObject({ type: 'ship', waiting: 0 });
    await expect(shop.backlog('unpaid')).rejects.toThrow(UnknownEventError);
    finish();
  });
});
