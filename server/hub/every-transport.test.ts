import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { processesKey } from '../transports/stored-keys.js';
import { createHub } from './create-hub.js';
import {
  HandlerTimeoutError,
  HubObserverError,
  UnknownDeadLetterError,
  UnknownEventError,
  WorkflowFailedError,
} from './errors.js';
import type { HandlerCtx } from './events/context.js';
import { deferred } from './hub.fixture.js';
import type { Hub } from './hub.js';
import type { HubOptions } from './hub-options.js';
import type { RunCtx } from './runs/step.js';
import { createWorkflow } from './runs/workflow.js';

const settings = { depth: 0, delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
interface Change {
  readonly customer: string;
  readonly n: number;
}

const drained = { isReceived: true, pending: 0 };

/** Rejects with the signal's reason when it aborts. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

describe.each(everyTransport)('a hub on the %s transport', (_name, createTransport) => {
  function newHub(options: HubOptions = {}): Hub {
    const hub = createHub({ transport: createTransport(), ...options });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  async function untilDrained(hub: Hub, ...types: string[]): Promise<void> {
    await vi.waitFor(
      async () => {
        const all = await Promise.all(types.map((type) => hub.metrics(type)));
        for (const { received, pending } of all) expect({ isReceived: received > 0, pending }).toEqual(drained);
      },
      { interval: 5 },
    );
  }

  it('passes payload and context to a handler, and its result to the follow-up event', async () => {
    const hub = newHub({ service: 'shop' });
    const seen: unknown[] = [];
    const created = hub.event<{ items: string[] }>({
      type: 'order.created',
      onSuccess: 'order.packed',
      handler: ({ payload, requestId, attempt, depth, idempotencyKey }) => {
        seen.push({ payload, requestId, attempt, depth, idempotencyKey });
        return { boxes: payload.items.length };
      },
    });
    hub.event({ type: 'order.packed', handler: ({ payload, depth }) => seen.push({ payload, depth }) });
    await hub.start();
    const { id } = await hub.emit(created, { items: ['tea', '日本\u0000'] }, { requestId: 'r-1' });
    await untilDrained(hub, 'order.created', 'order.packed');
    expect(seen).toEqual([
      {
        payload: { items: ['tea', '日本\u0000'] },
        requestId: 'r-1',
        attempt: 1,
        depth: 0,
        idempotencyKey: `shop:${id}`,
      },
      { payload: { boxes: 2 }, depth: 1 },
    ]);
  });

  it('accepts the follow-ups of each service that handles an event', async () => {
    const transport = createTransport();
    const seen: string[] = [];
    const mail = newHub({ service: 'mail', transport });
    mail.event<string>({ type: 'noted', handler: ({ payload, eventId }) => void seen.push(payload, eventId) });
    await mail.start();
    for (const service of ['shop', 'billing']) {
      const hub = newHub({ service, transport });
      hub.event({ type: 'noted' });
      hub.event({
        type: 'ordered',
        onSuccess: 'noted',
        handler: async ({ emit }) => {
          await emit('noted', `${service} emits`);
          return `${service} returns`;
        },
      });
      hub.workflow(
        createWorkflow({ name: 'fulfil', trigger: 'ordered', onSuccess: 'noted', run: () => `run of ${service}` }),
      );
      await hub.start();
    }
    await mail.transport.publish([{ id: randomUUID(), type: 'ordered', body: 'null', requestId: 'r', ...settings }]);
    await vi.waitFor(() => expect(new Set(seen).size).toBe(12), { interval: 5 });
    await untilDrained(mail, 'noted');
    expect(await mail.metrics('noted')).toMatchObject({ received: 6, completed: 6, pending: 0 });
  });

  it('stores that a hub has stopped, so that it is not listed as lost', async () => {
    const transport = createTransport();
    const hubs = ['shop', 'web'].map((service) => newHub({ service, transport }));
    for (const hub of hubs) {
      hub.event({ type: 'noted', handler: () => {} });
      await hub.start();
    }
    const [shop, web] = hubs;
    await shop?.stop();
    const stored: unknown = JSON.parse((await web?.transport.kv.get(processesKey)) ?? '{}');
    expect(stored).toEqual({
      processes: [
        expect.objectContaining({ service: 'shop', stoppedAt: expect.any(Number) }),
        expect.objectContaining({ service: 'web' }),
      ],
    });
    expect(await web?.lostProcesses()).toEqual([]);
  });

  it('runs one workflow run per key at a time, in order of acceptance, suspended ones included', async () => {
    const hub = newHub();
    const log: string[] = [];
    const changed = hub.event<Change>({ type: 'changed', key: ({ customer }) => customer });
    const go = hub.event<string>({ type: 'go', key: (customer) => customer });
    const apply = async ({ input: { customer, n }, step }: RunCtx<Change>): Promise<number> => {
      await step.run('begin', () => void log.push(`${customer}${n} begins`));
      if (n === 1) await step.waitForEvent('wait', go, { key: customer });
      else await step.sleep('pause', 20);
      await step.run('end', () => void log.push(`${customer}${n} ends`));
      return n;
    };
    const triggered = createWorkflow({ name: 'triggered', trigger: changed, concurrencyPerKey: 1, run: apply });
    const started = createWorkflow({
      name: 'started',
      key: ({ customer }) => customer,
      concurrencyPerKey: 1,
      run: apply,
    });
    hub.workflow(triggered);
    hub.workflow(started);
    await hub.start();
    await hub.emitMany(
      changed,
      ['a', 'b'].flatMap((customer) => [1, 2].map((n) => ({ customer, n }))),
    );
    // Started by a call, the run has the key that the event type computes.
    const third = await hub.startWorkflow(triggered, { customer: 'a', n: 3 });
    const own = [];
    for (const n of [1, 2]) own.push(await hub.startWorkflow(started, { customer: 'c', n }));
    const suspended = async () => (await hub.introspect()).workflows.map(({ metrics }) => metrics.suspended);
    await vi.waitFor(async () => expect(await suspended()).toEqual([2, 1]), { interval: 5 });
    expect(log.splice(0).sort()).toEqual(['a1 begins', 'b1 begins', 'c1 begins']);
    await hub.emit(go, 'a');
    expect(await third.result()).toBe(3);
    expect(log.splice(0)).toEqual(['a1 ends', 'a2 begins', 'a2 ends', 'a3 begins', 'a3 ends']);
    await hub.emit(go, 'c');
    expect(await own[1]?.result()).toBe(2);
    expect(log).toEqual(['c1 ends', 'c2 begins', 'c2 ends']);
    expect((await hub.introspect()).workflows).toMatchObject([{ concurrencyPerKey: 1 }, { concurrencyPerKey: 1 }]);
  });

  it('retries until no attempts are left, and counts each event once', async () => {
    const hub = newHub();
    hub.event<number>({
      type: 'a',
      retry: { maxAttempts: 3, initialDelayMs: 5 },
      onFailure: 'a.failed',
      handler({ payload, attempt }) {
        if (payload === 0 || attempt < payload) throw new TypeError(`no ${payload}`);
      },
    });
    hub.event({ type: 'a.failed' });
    await hub.start();
    await Promise.all([1, 2, 3, 0].map((payload) => hub.emit('a', payload)));
    await untilDrained(hub, 'a', 'a.failed');
    expect(await hub.metrics('a')).toMatchObject({ received: 4, completed: 3, failed: 1, retried: 5, active: 0 });
    expect(await hub.failures('a')).toMatchObject([{ attempt: 3, name: 'TypeError', message: 'no 0' }]);
    expect(await hub.metrics('a.failed')).toMatchObject({ received: 1, completed: 1 });
  });

  it('aborts an attempt at its timeout', async () => {
    const hub = newHub();
    const reasons: unknown[] = [];
    hub.event({
      type: 'a',
      timeoutMs: 30,
      handler: ({ signal }) => untilAborted(signal).catch((reason) => reasons.push(reason)),
    });
    await hub.start();
    await hub.emit('a', null);
    await untilDrained(hub, 'a');
    expect(reasons).toMatchObject([expect.any(HandlerTimeoutError)]);
    expect(await hub.metrics('a')).toMatchObject({ failed: 1 });
  });

  it('accepts one of several events with the same dedupeId', async () => {
    const hub = newHub();
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    const receipts = await Promise.all(Array.from({ length: 10 }, () => hub.emit('a', null, { dedupeId: 'once' })));
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(1);
    await untilDrained(hub, 'a');
    expect(await hub.metrics('a')).toMatchObject({ received: 1, completed: 1, deduplicated: 9 });
  });

  it('runs a workflow to its result and retries a failed step', async () => {
    const hub = newHub();
    const flow = hub.workflow(
      createWorkflow({
        name: 'fulfil',
        onComplete: 'fulfilled',
        steps: [
          { name: 'pick', handler: ({ payload }) => ({ picked: payload }) },
          {
            name: 'ship',
            retry: { maxAttempts: 2, initialDelayMs: 5 },
            handler({ attempt, workflow }) {
              if (attempt === 1) throw new Error('flaky');
              return workflow.outputs;
            },
          },
        ],
      }),
    );
    hub.event({ type: 'fulfilled' });
    await hub.start();
    const run = await hub.startWorkflow(flow, 'tea');
    expect(await run.result()).toEqual({ pick: { picked: 'tea' } });
    expect(await run.status()).toMatchObject({ status: 'completed', steps: [{ name: 'pick' }, { name: 'ship' }] });
    await untilDrained(hub, 'fulfilled');
    const [workflow] = (await hub.introspect()).workflows;
    expect(workflow?.metrics).toMatchObject({ received: 1, completed: 1, retried: 1, pending: 0 });
    expect(workflow?.runs).toMatchObject([{ status: 'completed' }]);
  });

  it('replays dead letters: those of an event type, and a workflow from its failed step', async () => {
    const hub = newHub({ service: 'shop' });
    const done: string[] = [];
    let isRepaired = false;
    const work = ({ payload, idempotencyKey }: HandlerCtx): void => {
      if (!isRepaired) throw new Error('not now');
      done.push(`${payload} ${idempotencyKey}`);
    };
    const charged = hub.event<string>({ type: 'charge', handler: work, onComplete: 'settled' });
    hub.event({ type: 'settled' });
    const flow = hub.workflow(
      createWorkflow({
        name: 'fulfil',
        steps: [
          { name: 'pick', handler: () => done.push('picked') },
          { name: 'ship', handler: work },
        ],
      }),
    );
    await hub.start();
    const sent = [await hub.emit(charged, 'tea'), await hub.emit(charged, 'cup')];
    const run = await hub.startWorkflow(flow, null);
    await expect(run.result()).rejects.toThrow('not now');
    await untilDrained(hub, 'charge');
    isRepaired = true;
    for (const source of [charged, flow]) {
      for (const { id } of await hub.deadLetters(source)) await hub.replay(id);
    }
    expect(await run.result()).toBeNull();
    await untilDrained(hub, 'charge', 'settled');
    expect(done.sort()).toEqual([
      `1 shop:${run.runId}:ship`,
      `cup shop:${sent[1]?.id}`,
      'picked',
      `tea shop:${sent[0]?.id}`,
    ]);
    expect(await hub.metrics('charge')).toMatchObject({ received: 4, completed: 2, failed: 2, pending: 0 });
    expect(await hub.metrics('settled')).toMatchObject({ received: 4, completed: 4 });
    await expect(hub.replay(run.runId)).rejects.toThrow(UnknownDeadLetterError);
  });

  it('gives a triggered run and the follow-ups of its event distinct ids, whatever the name of the workflow', async () => {
    const hub = newHub();
    const ran: string[] = [];
    const isAccepted = deferred();
    // All runs and follow-ups are pending at one time: with equal ids, one would replace the other.
    const runOnceAccepted = async (name: string): Promise<void> => {
      await isAccepted.promise;
      ran.push(name);
    };
    hub.event({ type: 'a', handler: () => {}, onSuccess: 'b', onComplete: 'c' });
    for (const type of ['b', 'c']) hub.event({ type, handler: () => runOnceAccepted(type) });
    for (const name of ['success', 'complete']) {
      const steps = [{ name: 'one', handler: () => runOnceAccepted(name) }];
      hub.workflow(createWorkflow({ name, trigger: 'a', onSuccess: `${name}.ended`, steps }));
      hub.event({ type: `${name}.ended` });
    }
    await hub.start();
    await hub.emit('a', null);
    await untilDrained(hub, 'a');
    isAccepted.resolve();
    await untilDrained(hub, 'b', 'c', 'success.ended', 'complete.ended');
    expect(ran.sort()).toEqual(['b', 'c', 'complete', 'success']);
  });

  it('cancels a running workflow', async () => {
    const hub = newHub();
    const hasBegun = deferred();
    hub.workflow(
      createWorkflow({
        name: 'endless',
        steps: [
          {
            name: 'wait',
            handler: ({ signal }) => {
              hasBegun.resolve();
              return untilAborted(signal);
            },
          },
        ],
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow('endless', null);
    await hasBegun.promise;
    expect(await run.cancel()).toBe(true);
    await expect(run.result()).rejects.toThrow(WorkflowFailedError);
    expect(await run.cancel()).toBe(false);
  });

  it('shows on every hub the registrations of all hubs, with their number of processes', async () => {
    const transport = createTransport();
    const shops = [newHub({ transport, service: 'shop' }), newHub({ transport, service: 'shop' })];
    for (const shop of shops) {
      shop.event({ type: 'a', description: 'An event', handler: () => {} });
      shop.workflow(createWorkflow({ name: 'fulfil', steps: [{ name: 'pick', handler: () => 1 }] }));
      await shop.start();
    }
    const observer = newHub({ transport, service: 'watch', observer: true });
    expect(() => observer.event({ type: 'b' })).toThrow(HubObserverError);
    await observer.start();
    await expect(observer.emit('a', 1)).rejects.toThrow(HubObserverError);

    await shops[0]?.emit('a', 1);
    await untilDrained(observer, 'a');
    const seen = await observer.introspect();
    expect(seen.events).toMatchObject([
      { type: 'a', kind: 'handler', description: 'An event', processes: 2, metrics: { completed: 1 } },
    ]);
    expect(seen.workflows).toMatchObject([{ name: 'fulfil', steps: [{ name: 'pick' }], processes: 2, runs: [] }]);
    await expect(observer.metrics('b')).rejects.toThrow(UnknownEventError);

    const before = await observer.revision();
    await shops[1]?.stop();
    expect(await observer.revision()).not.toBe(before);
    expect((await observer.introspect()).events).toMatchObject([{ type: 'a', processes: 1 }]);
  });
});
