import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { RunNotEndedError, UnknownRunError, UnknownStepError } from '../errors.js';
import { createEvent } from '../events/event.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import { defineWorkflow } from './define-workflow.js';
import { createWorkflow } from './workflow.js';

const order = z.object({ id: z.string(), cents: z.number() });
const paid = createEvent({ type: 'paid', schema: order, key: ({ id }) => id });
const noted = createEvent({ type: 'noted', schema: z.string() });

/** Work that the steps of a test did, in order. */
type Log = string[];

function register(hub: Hub, log: Log, faulty: { isBroken: boolean }) {
  hub.event(paid);
  hub.event(noted, { handler: ({ payload }) => void log.push(`noted ${payload}`) });
  const pack = createWorkflow({ name: 'pack', input: order, run: async ({ input, runId }) => `${runId} ${input.id}` });
  hub.workflow(pack);
  const fulfil = createWorkflow({
    name: 'fulfil',
    input: order,
    run: async ({ input, step, runId }) => {
      const price = await step.run('price', ({ idempotencyKey }) => {
        log.push(`price ${input.cents}`);
        return { cents: input.cents, idempotencyKey };
      });
      await step.emit('note', noted, input.id);
      const [packed, payment] = await Promise.all([
        step.invoke('pack', pack, input),
        step.waitForEvent('paid', paid, { key: input.id }),
      ]);
      const key = await step.run(
        'ship',
        ({ idempotencyKey, attempt }) => {
          log.push(`ship ${attempt}`);
          if (faulty.isBroken) throw new Error('no carrier');
          return idempotencyKey;
        },
        { retry: { maxAttempts: 2, initialDelayMs: 1 } },
      );
      return { runId, price, packed, payment: payment?.cents, key };
    },
  });
  hub.workflow(fulfil);
  return fulfil;
}

describe.each(everyTransport)('forks on the %s transport', (_name, createTransport) => {
  it('have what was recorded before a step, and run the rest again', async () => {
    const transport = createTransport();
    const hub = createHub({ service: 'shop', transport });
    const reader = createHub({ observer: true, transport });
    onTestFinished(async () => {
      await reader.stop();
      await hub.stop({ drainMs: 0 });
    });
    const log: Log = [];
    const faulty = { isBroken: true };
    const fulfil = register(hub, log, faulty);
    await hub.start();
    await reader.start();
    const until = async (done: () => Promise<void>): Promise<void> =>
      vi.waitFor(done, { interval: 10, timeout: 30_000 });
    const run = await hub.startWorkflow(fulfil, { id: 'o-1', cents: 5 });
    // In this order: what a fork takes over depends on it.
    const packed = expect.objectContaining({ name: 'pack', status: 'completed' });
    await until(async () => {
      const { status, steps } = await run.status();
      expect(status).toBe('suspended');
      expect(steps).toContainEqual(packed);
    });
    await expect(hub.fork(run.runId, { fromStep: 'ship' })).rejects.toThrow(RunNotEndedError);
    await hub.emit(paid, { id: 'o-1', cents: 7 });
    await until(async () => expect(await run.status()).toMatchObject({ status: 'failed' }));
    expect(log.splice(0).toSorted()).toEqual(['noted o-1', 'price 5', 'ship 1', 'ship 2']);

    faulty.isBroken = false;
    const { id } = await hub.fork(run.runId, { fromStep: 'ship', by: 'ada' });
    const fork = hub.workflowHandle(fulfil, id);
    const result = await fork.result();
    expect(log.splice(0)).toEqual(['ship 1']);
    expect(result).toMatchObject({ runId: id, payment: 7, price: { cents: 5 } });
    expect(result.price.idempotencyKey).toContain(run.runId);
    expect(result.key).toContain(id);
    const [details] = await hub.find(id);
    expect(details).toMatchObject({ causeId: run.runId, requestId: run.runId, status: 'completed' });
    expect(details?.forkOf).toEqual({ runId: run.runId, step: 'ship' });
    expect((await hub.find(run.runId))[0]).not.toHaveProperty('forkOf');
    expect((await hub.audit()).map(({ action, target }) => ({ action, target }))).toEqual([
      { action: 'fork', target: { id: run.runId, step: 'ship', workflow: 'fulfil' } },
    ]);

    // With another input, from the first wait: the child run and the wait start anew, and the emit is repeated by nothing.
    const { id: other } = await hub.fork(id, { fromStep: 'pack', input: { id: 'o-2', cents: 9 } });
    await until(async () => expect(await hub.getRun('fulfil', other)).toMatchObject({ status: 'suspended' }));
    await hub.emit(paid, { id: 'o-2', cents: 11 });
    const second = await hub.workflowHandle(fulfil, other).result();
    expect(second).toMatchObject({ payment: 11, price: { cents: 5 }, packed: expect.stringMatching(/ o-2$/) });
    expect(second.packed).not.toBe(result.packed);
    expect(log.splice(0)).toEqual(['ship 1']);

    // A hub that has not registered the workflow, from a fork.
    await expect(reader.fork(id, { fromStep: 'ship' })).rejects.toThrow('read-only');
    await expect(reader.fork(id, { fromStep: 'ship', service: 'mail' })).rejects.toThrow('"shop" runs it');
    const third = await reader.fork(id, { fromStep: 'ship', service: 'shop' });
    expect(await hub.workflowHandle(fulfil, third.id).result()).toMatchObject({ runId: third.id, payment: 7 });
    expect(await reader.find(third.id)).toMatchObject([{ causeId: id, forkOf: { runId: id, step: 'ship' } }]);
    expect(log.splice(0)).toEqual(['ship 1']);

    await expect(hub.fork(run.runId, { fromStep: 'shop' })).rejects.toThrow(UnknownStepError);
    await expect(hub.fork(run.runId, { fromStep: 'shop' })).rejects.toThrow('"price"');
    await expect(hub.fork('unknown', { fromStep: 'ship' })).rejects.toThrow(UnknownRunError);
    await expect(hub.fork(run.runId, { fromStep: 'ship', input: { id: 1 } })).rejects.toThrow('cents');
    const { runs } = await hub.erase({ requestId: run.runId });
    expect(runs).toBe(6);
    expect((await hub.find(id))[0]).not.toHaveProperty('forkOf');
    await expect(hub.fork(id, { fromStep: 'ship' })).rejects.toThrow('hub.erase');
  });
});

test('a fork of a run that was replayed has the results that the replay recorded', async () => {
  const { hub, clock } = testHub({ service: 'shop' });
  const log: Log = [];
  const faulty = { isBroken: true };
  const fulfil = register(hub, log, faulty);
  await hub.start();
  const run = await hub.startWorkflow(fulfil, { id: 'o-1', cents: 5 });
  await clock.advance(10);
  await hub.emit(paid, { id: 'o-1', cents: 7 });
  for (let n = 0; n < 20; n += 1) await clock.advance(10);
  faulty.isBroken = false;
  await hub.replay(run.runId);
  await clock.advance(10);
  expect(await run.status()).toMatchObject({ status: 'completed' });
  log.splice(0);
  const { id } = await hub.fork(run.runId, { fromStep: 'ship' });
  await clock.advance(10);
  expect(await hub.getRun('fulfil', id)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(log).toEqual(['ship 1']);
});

test('a hub that has not registered a workflow forks no run of which something is computed from the input', async () => {
  const transport = memoryTransport();
  const hub = createHub({ service: 'shop', transport });
  const paidOf = ({ id }: { id: string }): string => id;
  const kept = defineWorkflow({ name: 'kept', input: order, receives: [{ event: paid, key: paidOf }] });
  const ended = defineWorkflow({ name: 'ended', input: order, cancelOn: [{ event: paid, key: paidOf }] });
  const one = { name: 'one', handler: () => 1 };
  const workflows = [
    hub.workflow(createWorkflow({ name: 'plain', steps: [one] })),
    hub.workflow(createWorkflow({ name: 'tagged', tags: () => ['a'], steps: [one] })),
    hub.workflow(createWorkflow(kept, { run: ({ step }) => step.run('one', () => 1) })),
    hub.workflow(createWorkflow(ended, { run: ({ step }) => step.run('one', () => 1) })),
  ];
  hub.event(paid);
  await hub.start();
  const web = createHub({ service: 'web', transport });
  onTestFinished(async () => {
    await web.stop();
    await hub.stop();
  });
  await web.start();
  const forks = workflows.map(async ({ name }) => {
    const run = await hub.startWorkflow(name, { id: 'o-1', cents: 5 });
    const { runId } = run;
    await run.result();
    return web.fork(runId, { fromStep: 'one', service: 'shop' }).then(
      () => 'forked',
      (error: unknown) => String(error),
    );
  });
  const refused = expect.stringContaining('are computed from its input');
  expect(await Promise.all(forks)).toEqual(['forked', refused, refused, refused]);
  const [{ id = '' } = {}] = (await hub.getRecent('plain')).newest;
  const input = { id: 'secret', cents: 1 };
  const checked = web.fork(id, { fromStep: 'one', service: 'shop', input });
  await expect(checked).rejects.toThrow('registered "plain" checks its input');
  await expect(checked).rejects.not.toThrow('secret');
});

test('a hub forks no run of others while a process of an earlier version does not describe what it computes', async () => {
  const transport = memoryTransport();
  const hub = createHub({ service: 'shop', transport });
  const one = { name: 'one', handler: () => 1 };
  const plain = hub.workflow(createWorkflow({ name: 'plain', steps: [one] }));
  await hub.start();
  const web = createHub({ service: 'web', transport });
  await web.start();
  const earlier = transport.connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => {
    await earlier.close({ drainMs: 0 });
    await web.stop();
    await hub.stop();
  });
  const run = await hub.startWorkflow(plain, {});
  await run.result();
  const fork = () => web.fork(run.runId, { fromStep: 'one', service: 'shop' });
  await expect(fork()).resolves.toMatchObject({ id: expect.any(String) });
  const workflows = [{ name: 'plain', steps: [{ name: 'one', kind: 'step' }] }];
  await earlier.start({
    concurrency: 1,
    subscriptions: [],
    describe: () => JSON.stringify({ service: 'shop', workflows }),
    onDelivery: () => {},
  });
  await expect(fork()).rejects.toThrow('fork it in a process of the service, or update all of them');
  await expect(hub.fork(run.runId, { fromStep: 'one' })).resolves.toMatchObject({ id: expect.any(String) });
});
