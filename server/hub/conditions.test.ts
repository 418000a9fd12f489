import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { InvalidOptionError } from '../errors.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { workflowType } from '../transports/delivery.js';
import { createHub } from './create-hub.js';
import { createEvent } from './events/event.js';
import { testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

const order = createEvent({
  type: 'order.placed',
  schema: z.object({ id: z.string(), cents: z.number() }),
  key: ({ id }) => id,
});
const refund = createEvent({ type: 'refund.asked', schema: z.object({ id: z.string(), reason: z.string() }) });

const done = createEvent({ type: 'done' });

describe.each(everyTransport)('conditions on the %s transport', (_name, createTransport) => {
  function newHub(): Hub {
    const hub = createHub({ transport: createTransport() });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  const until = (condition: () => Promise<void>): Promise<void> =>
    vi.waitFor(condition, { interval: 10, timeout: 30_000 });

  it('refuse events before their handler, and are asked once over its retries', async () => {
    const hub = newHub();
    const asked: number[] = [];
    const handled: string[] = [];
    hub.event(order, {
      when: ({ cents }) => {
        asked.push(cents);
        return cents >= 100;
      },
      retry: { maxAttempts: 3, initialDelayMs: 1 },
      onComplete: 'done',
      handler: ({ eventId, attempt }) => {
        handled.push(`${eventId} ${attempt}`);
        if (attempt < 3) throw new Error('fails twice');
      },
    });
    const followed: unknown[] = [];
    hub.event(done, { handler: ({ payload }) => void followed.push(payload) });
    await hub.start();
    const small = await hub.emit(order, { id: 'o-1', cents: 5 });
    const large = await hub.emit(order, { id: 'o-2', cents: 500 });
    await until(async () => {
      expect(await hub.metrics(order.type)).toMatchObject({ received: 2, completed: 2, filtered: 1, pending: 0 });
      expect(followed).toMatchObject([{ status: 'completed', payload: { id: 'o-2' } }]);
    });
    expect(asked.sort()).toEqual([5, 500]);
    expect(handled).toEqual([1, 2, 3].map((attempt) => `${large.id} ${attempt}`));
    expect(await hub.find(small.id)).toMatchObject([{ status: 'filtered' }]);
  });

  it('fail an event like a handler if they throw or decide nothing', async () => {
    const hub = newHub();
    const verdicts = [new Error('no connection'), 'yes', true];
    hub.event<number>({
      type: 'a',
      when: () => {
        const verdict = verdicts.shift();
        if (verdict instanceof Error) throw verdict;
        // A caller without TypeScript.
        return verdict as boolean;
      },
      retry: { maxAttempts: 3, initialDelayMs: 1 },
      handler: () => {},
    });
    await hub.start();
    const { id } = await hub.emit('a', 1);
    await until(async () => {
      expect(await hub.metrics('a')).toMatchObject({ completed: 1, filtered: 0, retried: 2, pending: 0 });
    });
    expect((await hub.find(id))[0]?.attempts.map(({ error }) => error?.name)).toEqual([
      'Error',
      'InvalidOptionError',
      undefined,
    ]);
  });

  it('start the runs of a workflow by several events, and tell which one it was', async () => {
    const hub = newHub();
    const runs: unknown[] = [];
    const review = createWorkflow({
      name: 'review',
      triggers: [
        { event: order, when: ({ cents }) => cents > 1_000 },
        { event: refund, when: ({ reason }) => reason !== 'test' },
      ],
      onSuccess: done,
      run: async ({ input, trigger, step }) => {
        await step.sleep('pause', 1);
        runs.push([trigger, input.id]);
        return 'cents' in input ? input.cents : input.reason;
      },
    });
    hub.workflow(review);
    const results: unknown[] = [];
    hub.event(done, { handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    await hub.emit(order, { id: 'small', cents: 1 });
    await hub.emit(order, { id: 'large', cents: 2_000 });
    await hub.emit(refund, { id: 'test', reason: 'test' });
    await hub.emit(refund, { id: 'broken', reason: 'broken' });
    const started = await hub.startWorkflow(review, { id: 'direct', cents: 1 });
    expect(await started.result()).toBe(1);
    const type = workflowType('review');
    await until(async () => {
      const [counts] = await hub.transport.counts.get([type]);
      expect(counts?.total).toMatchObject({ received: 5, completed: 5, filtered: 2, pending: 0 });
      expect(results).toHaveLength(3);
    });
    expect(runs.map(String).sort()).toEqual([',direct', 'order.placed,large', 'refund.asked,broken']);
    expect(results.map(String).sort()).toEqual(['1', '2000', 'broken']);
    expect((await hub.workflowRuns('review')).runs.filter(({ steps }) => steps.length > 0)).toHaveLength(3);
    const [described] = (await hub.introspect()).workflows;
    expect(described).toMatchObject({ trigger: 'order.placed', triggers: ['order.placed', 'refund.asked'] });
  });
});

describe('wrong conditions', () => {
  const { hub } = { hub: () => testHub().hub };

  it.each<[string, (hub: Hub) => unknown]>([
    ['when', (own) => own.event({ type: 'a', when: () => true } as never)],
    ['when', (own) => own.event({ type: 'a', when: 1 as never, handler: () => {} })],
    ['triggers', () => createWorkflow({ name: 'w', triggers: [], run: () => 1 })],
    ['triggers', () => createWorkflow({ name: 'w', triggers: [{ event: 'a' }, { event: 'a' }], run: () => 1 })],
    ['trigger', () => createWorkflow({ name: 'w', trigger: 'a', triggers: [{ event: 'a' }], run: () => 1 })],
    ['event', () => createWorkflow({ name: 'w', triggers: [{} as never], run: () => 1 })],
    ['when', () => createWorkflow({ name: 'w', triggers: [{ event: 'a', when: 1 as never }], run: () => 1 })],
  ])('are refused: %s', (option, register) => {
    expect(() => register(hub())).toThrow(InvalidOptionError);
    expect(() => register(hub())).toThrow(option);
  });

  it('of a workflow with a limit per key need a key of each trigger', async () => {
    const own = hub();
    own.workflow(
      createWorkflow({
        name: 'w',
        triggers: [{ event: order }, { event: refund }],
        concurrencyPerKey: 1,
        run: ({ input }) => input.id,
      }),
    );
    await expect(own.start()).rejects.toThrow('key of event "refund.asked"');
  });
});
