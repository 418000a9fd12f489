import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { silentLogger } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

let nodes: RedisServer[];

/** Starts a cluster of three masters without replicas. */
beforeAll(async () => {
  nodes = await Promise.all([1, 2, 3].map(() => startRedisServer(['--cluster-enabled', 'yes'])));
  const admins = nodes.map(({ url }) => new Redis(url));
  const [first] = admins;
  for (const [index, admin] of admins.entries()) {
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', index * 5_461, index === 2 ? 16_383 : index * 5_461 + 5_460);
    await first?.call('CLUSTER', 'MEET', '127.0.0.1', nodes[index]?.port ?? 0);
  }
  for (const admin of admins) {
    const info = async (): Promise<string> => String(await admin.call('CLUSTER', 'INFO'));
    await vi.waitFor(async () => expect(await info()).toMatch(/cluster_state:ok/), patient);
    admin.disconnect();
  }
});
afterAll(() => Promise.all(nodes.map((node) => node.release())));

const patient = { interval: 20 };

/** State outside the hubs. */
interface World {
  isRepaired: boolean;
  readonly running: Set<string>;
  overlaps: number;
  readonly scheduled: Set<string>;
}

/** Starts a process whose URL names one node. */
async function startProcess(url: string, prefix: string, world: World): Promise<Hub> {
  const hub = createHub({
    service: 'shop',
    logger: silentLogger,
    transport: redisTransport({ url, prefix, emitTimeoutMs: 60_000 }),
  });
  hub.event<{ customer: string }>({
    type: 'order.placed',
    key: ({ customer }) => customer,
    concurrencyPerKey: 1,
    retry: { maxAttempts: 2, initialDelayMs: 1 },
    handler: async ({ payload: { customer }, attempt, emit }) => {
      if (world.running.has(customer)) world.overlaps += 1;
      world.running.add(customer);
      await setImmediate();
      world.running.delete(customer);
      if (attempt === 1) throw new Error('busy');
      await emit('order.counted', null);
    },
  });
  hub.event({ type: 'order.counted', concurrency: 1, handler: () => {} });
  hub.event({
    type: 'invoice.due',
    handler: () => {
      if (!world.isRepaired) throw new Error('out of paper');
    },
  });
  hub.event({ type: 'later', handler: () => {} });
  hub.event<{ order: string }>({ type: 'paid', key: ({ order }) => order });
  hub.event<string>({ type: 'tick', handler: ({ eventId }) => void world.scheduled.add(eventId) });
  hub.schedule({ name: 'clock', everyMs: 1_000, emit: 'tick', payload: null });
  const pack = createWorkflow({
    name: 'pack',
    run: async ({ input, step }) => {
      await step.sleep('rest', 5);
      return `packed ${input}`;
    },
  });
  hub.workflow(pack);
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      run: async ({ input, step }) => {
        const order = String(input);
        const picked = await step.run('pick', () => `picked ${order}`);
        await step.sleep('rest', 5);
        const paid = await step.waitForEvent('paid', 'paid', { key: order, timeoutMs: 600_000 });
        const packed = await step.invoke('pack', 'pack', order);
        return [picked, paid, packed];
      },
    }),
  );
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

it('every feature works in a cluster, whichever node each process enters it by', async () => {
  const world: World = { isRepaired: false, running: new Set(), overlaps: 0, scheduled: new Set() };
  const prefix = randomUUID();
  const hubs = await Promise.all(nodes.map(({ url }) => startProcess(url, prefix, world)));
  const use = async (hub: Hub, other: Hub, third: Hub, name: string): Promise<void> => {
    const requestId = `request ${name}`;
    // Events with a key, retries and follow-ups, and a dead letter.
    await hub.emitMany(
      'order.placed',
      Array.from({ length: 5 }, () => ({ customer: name })),
      { requestId },
    );
    const { id: invoice } = await hub.emit('invoice.due', null, { requestId });
    await hub.transport.kv.set(`stock of ${name}`, 'one');
    // A run that sleeps, waits and has a child run.
    const run = await hub.startWorkflow('fulfil', name, { requestId });
    const seen: string[] = [];
    const watched = (async () => {
      for await (const event of other.watch(run.runId)) seen.push(event.type === 'step' ? event.step.name : event.type);
    })();
    await vi.waitFor(async () => {
      const { steps } = await other.getRun('fulfil', run.runId);
      expect(steps.at(-1)).toMatchObject({ name: 'paid', waitsFor: { event: { type: 'paid', key: name } } });
    }, patient);
    await third.emit('paid', { order: name });
    expect(await run.result()).toEqual([`picked ${name}`, { order: name }, `packed ${name}`]);
    await watched;
    expect(new Set(seen)).toEqual(new Set(['pick', 'rest', 'paid', 'pack', 'run-end']));
    // Cancellations by other processes.
    const later = await hub.emit('later', null, { delayMs: 600_000, requestId });
    const waiting = await hub.startWorkflow('fulfil', `${name} unpaid`, { requestId });
    await vi.waitFor(
      async () => expect(await other.find(waiting.runId)).toMatchObject([{ status: 'suspended' }]),
      patient,
    );
    expect(await other.cancel(later.id)).toBe(true);
    expect(await third.cancel(waiting.runId)).toBe(true);
    await expect(waiting.result()).rejects.toThrow('cancelled');
    // The lookup by another process.
    await vi.waitFor(async () => {
      const { events } = await third.getRequest(requestId);
      const ends = events.map(({ type, status }) => `${type} ${status}`).sort();
      const orders = Array.from({ length: 5 }, () => ['order.counted completed', 'order.placed completed']).flat();
      const others = [
        'fulfil cancelled',
        'fulfil completed',
        'invoice.due failed',
        'later cancelled',
        'pack completed',
      ];
      expect(ends).toEqual([...others, ...orders].sort());
    }, patient);
    expect(await other.find(invoice)).toMatchObject([{ status: 'failed', isDeadLetter: true }]);
    expect(await third.deadLetters('invoice.due', { requestId })).toMatchObject([{ id: invoice }]);
    expect(await third.transport.kv.get(`stock of ${name}`)).toBe('one');
  };
  const [a, b, c] = hubs;
  if (a === undefined || b === undefined || c === undefined) throw new Error('a process is missing');
  await Promise.all([use(a, b, c, 'Ada'), use(b, c, a, 'Bob'), use(c, a, b, 'Cem')]);

  world.isRepaired = true;
  for (const hub of hubs) {
    const [dead] = await hub.deadLetters('invoice.due');
    await hub.replay(dead?.id ?? '');
  }
  await vi.waitFor(
    async () => expect(await a.metrics('invoice.due')).toMatchObject({ pending: 0, completed: 3 }),
    patient,
  );
  await vi.waitFor(() => expect(world.scheduled.size).toBeGreaterThan(1), patient);
  expect(world.overlaps).toBe(0);
  for (const hub of hubs) {
    const { events, workflows, schedules, hub: self } = await hub.introspect();
    expect(self.transport).toBe('redis');
    const counts = (type: string) => events.find((event) => event.type === type)?.metrics;
    expect(counts('order.placed')).toMatchObject({ received: 15, completed: 15, retried: 15, pending: 0 });
    expect(counts('later')).toMatchObject({ received: 3, cancelled: 3 });
    expect(workflows.find((workflow) => workflow.name === 'fulfil')?.metrics).toMatchObject({
      completed: 3,
      cancelled: 3,
    });
    expect(schedules).toMatchObject([{ name: 'clock' }]);
    expect(await hub.processes()).toHaveLength(3);
  }
});
