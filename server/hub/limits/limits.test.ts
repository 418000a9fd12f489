import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import type { HandlerCtx } from '../events/context.js';
import { deferred } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import { createWorkflow } from '../runs/workflow.js';
import { createLimit } from './limit.js';

const minuteMs = 60_000;

describe.each(everyTransport)('a limit on the %s transport', (_name, createTransport) => {
  /** Creates hubs of several services on one transport. */
  function newHubs(...services: readonly string[]): readonly Hub[] {
    const transport = createTransport();
    return services.map((service) => {
      const hub = createHub({ transport, service });
      onTestFinished(async () => {
        await hub.stop({ drainMs: 0 });
      });
      return hub;
    });
  }

  it('of a rate is shared by handlers and steps of all services, and holds no process meanwhile', async () => {
    const [shop, mail] = newHubs('shop', 'mail');
    if (shop === undefined || mail === undefined) throw new Error('no hubs');
    const vendor = createLimit({ name: randomUUID(), max: 3, perMs: minuteMs });
    let calls = 0;
    const call = (): void => {
      calls += 1;
    };
    shop.event({ type: 'order', limit: vendor, handler: call });
    mail.event({ type: 'order', limit: () => vendor, handler: call });
    const run = createWorkflow({
      name: 'flow',
      run: async ({ step }) => {
        await Promise.all([1, 2].map(() => step.run('call', call, { limit: vendor })));
      },
    });
    shop.workflow(run);
    await shop.start();
    await mail.start();
    await shop.emit('order', {});
    const { runId } = await shop.startWorkflow(run, {});
    await shop.emit('order', {});
    await vi.waitFor(() => expect(calls).toBe(3), { interval: 5 });
    const isLeft = async (): Promise<boolean> => {
      const status = (await shop.getRun('flow', runId))?.status;
      return (await shop.metrics('order')).active === 0 && status !== 'active';
    };
    await vi.waitFor(async () => expect(await isLeft()).toBe(true), { interval: 20, timeout: 30_000 });
    expect(calls).toBe(3);
  });

  it('of a concurrency is held by at most so many functions at once, and all of them run', async () => {
    const [shop, mail] = newHubs('shop', 'mail');
    if (shop === undefined || mail === undefined) throw new Error('no hubs');
    const sessions = createLimit({ name: randomUUID(), concurrency: 2 });
    let running = 0;
    let most = 0;
    let calls = 0;
    const call = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      calls += 1;
    };
    shop.event({ type: 'order', limit: sessions, handler: call });
    const run = createWorkflow({
      name: 'flow',
      run: async ({ step }) => {
        await step.map('call', [1, 2, 3, 4], call, { limit: sessions });
      },
    });
    mail.workflow(run);
    await shop.start();
    await mail.start();
    for (let i = 0; i < 4; i += 1) await shop.emit('order', {});
    await (await mail.startWorkflow(run, {})).result();
    await vi.waitFor(() => expect(calls).toBe(8), { interval: 5 });
    expect(most).toBeLessThanOrEqual(2);
  });

  it('of a key has permits of its own', async () => {
    const [shop] = newHubs('shop');
    if (shop === undefined) throw new Error('no hub');
    const vendor = createLimit({ name: randomUUID(), max: 1, perMs: minuteMs });
    const tenants: string[] = [];
    shop.event<{ tenant: string }>({
      type: 'order',
      limit: ({ tenant }) => vendor.for(tenant),
      handler: ({ payload }) => {
        tenants.push(payload.tenant);
      },
    });
    await shop.start();
    for (const tenant of ['a', 'a', 'b', 'b']) await shop.emit('order', { tenant });
    await vi.waitFor(async () => {
      expect([...tenants].sort()).toEqual(['a', 'b']);
      expect((await shop.metrics('order')).active).toBe(0);
    });
  });

  it('lets an event wait longer than the time limit of its handler', async () => {
    const [shop] = newHubs('shop');
    if (shop === undefined) throw new Error('no hub');
    const one = createLimit({ name: randomUUID(), concurrency: 1 });
    const held = deferred<void>();
    shop.event({ type: 'report', limit: one, handler: () => held.promise });
    shop.event({ type: 'order', limit: one, timeoutMs: 100, handler: () => 'shipped' });
    await shop.start();
    await shop.emit('report', {});
    await vi.waitFor(async () => expect(await shop.metrics('report')).toMatchObject({ active: 1 }));
    await shop.emit('order', {});
    // The process gives it back after a second.
    await vi.waitFor(async () => expect(await shop.metrics('order')).toMatchObject({ delayed: 1, failed: 0 }), {
      interval: 20,
    });
    held.resolve();
    await vi.waitFor(async () => expect(await shop.metrics('order')).toMatchObject({ completed: 1 }), { interval: 20 });
  });

  it('is free again after a handler that fails, and after one that outlives its timeout', async () => {
    const [shop] = newHubs('shop');
    if (shop === undefined) throw new Error('no hub');
    const one = createLimit({ name: randomUUID(), concurrency: 1 });
    const stuck = deferred<void>();
    const calls: string[] = [];
    const handler = async ({ payload }: HandlerCtx<{ name: string }>): Promise<void> => {
      calls.push(payload.name);
      if (payload.name === 'failing') throw new Error('no');
      if (payload.name === 'stuck') await stuck.promise;
    };
    shop.event<{ name: string }>({ type: 'order', limit: one, timeoutMs: 300, handler });
    await shop.start();
    await shop.emit('order', { name: 'failing' });
    await vi.waitFor(() => expect(calls).toEqual(['failing']));
    await shop.emit('order', { name: 'stuck' });
    await vi.waitFor(async () => expect((await shop.metrics('order')).failed).toBe(2));
    await shop.emit('order', { name: 'last' });
    expect(calls).toEqual(['failing', 'stuck']);
    stuck.resolve();
    await vi.waitFor(() => expect(calls).toEqual(['failing', 'stuck', 'last']), { interval: 20 });
  });
});
