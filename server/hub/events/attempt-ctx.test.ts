import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, testHub } from '../hub.fixture.js';
import type { RunCtx } from '../runs/step.js';
import { createWorkflow } from '../runs/workflow.js';
import type { HandlerCtx } from './context.js';

describe('emits', () => {
  it('of a handler are accepted with its outcome, in order, with its requestId and the id of their cause', async () => {
    const { hub, clock } = testHub();
    const gate = deferred();
    const seen: HandlerCtx[] = [];
    const emitted: string[] = [];
    const child = createWorkflow({ name: 'child', run: ({ input }: RunCtx<string>) => input });
    hub.workflow(child);
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    hub.event({
      type: 'a',
      handler: async ({ emit, startWorkflow }) => {
        emitted.push((await emit('b', 1)).id, (await emit('b', 2)).id, (await startWorkflow(child, 'in')).runId);
        await gate.promise;
      },
    });
    await hub.start();
    const { id: causeId } = await hub.emit('a', null, { requestId: 'r' });
    await clock.settle();
    expect(emitted).toHaveLength(3);
    expect(await hub.metrics('b')).toMatchObject({ received: 0 });
    gate.resolve();
    await clock.settle();
    const [first, second, runId] = emitted;
    expect(seen).toMatchObject([
      { eventId: first, requestId: 'r', depth: 1, payload: 1 },
      { eventId: second, requestId: 'r', depth: 1, payload: 2 },
    ]);
    expect(await hub.getRun(child, String(runId))).toMatchObject({ status: 'completed' });
    const { events } = await hub.getRequest('r');
    expect(new Map(events.map((event) => [event.id, event.causeId]))).toEqual(
      new Map([[causeId, undefined], ...emitted.map((id) => [id, causeId] as const)]),
    );
  });

  it('are limited per outcome, and validate at once', async () => {
    const { hub, clock } = testHub();
    const errors: unknown[] = [];
    hub.event({ type: 'b', schema: z.number() });
    hub.event({
      type: 'a',
      handler: async ({ emit }) => {
        await emit('b', 'x').catch((error: unknown) => errors.push(error));
        await emit('missing', 1).catch((error: unknown) => errors.push(error));
        for (let i = 0; i < 1_000; i += 1) await emit('b', i);
        await emit('b', 1_000).catch((error: unknown) => errors.push(error));
      },
    });
    await hub.start();
    await hub.emit('a', null);
    await clock.settle();
    expect(errors).toMatchObject([
      { code: 'ERR_SCHEMA_VALIDATION' },
      { code: 'ERR_UNKNOWN_EVENT' },
      { code: 'ERR_EMIT_LIMIT', message: expect.stringContaining('1000 events') },
    ]);
    expect(await hub.metrics('b')).toMatchObject({ received: 1_000 });
  });

  it('of hub.emit with a cause are accepted at once, whatever becomes of the handler', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    hub.event({
      type: 'a',
      handler: async (ctx) => {
        await hub.emit('b', 1, { cause: ctx });
        throw new Error('no');
      },
    });
    await hub.start();
    await hub.emit('a', null, { requestId: 'r' });
    await clock.settle();
    expect(seen).toMatchObject([{ requestId: 'r', depth: 1 }]);
  });
});
