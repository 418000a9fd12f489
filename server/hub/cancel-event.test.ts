import { expect, it } from 'vitest';
import { cpuMsSince } from '../testing/cpu-time.fixture.js';
import { createHub } from './create-hub.js';
import { deferred, testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

it('ends a delayed event and emits onFailure and onComplete', async () => {
  const { hub, clock, log } = testHub();
  const seen: unknown[] = [];
  hub.event({
    type: 'reminder',
    onSuccess: 'reminded',
    onFailure: 'not.reminded',
    onComplete: 'ended',
    handler: () => void seen.push('reminder'),
  });
  hub.event({ type: 'reminded', handler: () => void seen.push('reminded') });
  hub.event({ type: 'not.reminded', handler: ({ payload, depth }) => void seen.push([payload, depth]) });
  hub.event<{ status: string }>({ type: 'ended', handler: ({ payload }) => void seen.push(payload.status) });
  await hub.start();
  const { id } = await hub.emit('reminder', { for: 'ada' }, { delayMs: 1_000 });
  expect(await hub.cancel(id)).toBe(true);
  expect(await hub.cancel(id)).toBe(false);
  await clock.advance(2_000);
  const error = expect.objectContaining({ name: 'CancelledError', code: 'ERR_CANCELLED' });
  expect(seen).toEqual([
    [{ error, event: expect.objectContaining({ kind: 'event' }), payload: { for: 'ada' } }, 1],
    'failed',
  ]);
  expect(await hub.metrics('reminder')).toMatchObject({ failed: 1, cancelled: 1, pending: 0 });
  expect(await hub.deadLetters('reminder')).toEqual([]);
  expect(log).toEqual([]);
});

it('uses the follow-ups of the hub that handles the event', async () => {
  const { hub: worker, clock, transport } = testHub();
  const web = createHub({ transport });
  const seen: string[] = [];
  worker.event({ type: 'reminder', onFailure: 'failed', handler: () => {} });
  worker.event({ type: 'failed', handler: () => void seen.push('failed') });
  web.event({ type: 'reminder' });
  await worker.start();
  await web.start();
  const { id } = await web.emit('reminder', null, { delayMs: 1_000 });
  expect(await web.cancel(id)).toBe(true);
  await clock.settle();
  expect(seen).toEqual(['failed']);
  await web.stop();
});

it('aborts the handlers of an event in all services, discards what they emit, and frees their slots afterwards', async () => {
  const { hub, clock, transport } = testHub({ service: 'shop' });
  const other = createHub({ transport, service: 'mail' });
  const seen: unknown[] = [];
  const gates: ReturnType<typeof deferred<void>>[] = [];
  for (const each of [hub, other]) {
    each.event({
      type: 'a',
      concurrency: 1,
      onSuccess: 'b',
      onFailure: 'c',
      async handler({ payload, signal, emit }) {
        if (payload === 2) return void seen.push([each.service, 'second']);
        const gate = deferred();
        gates.push(gate);
        signal.addEventListener('abort', () => seen.push([each.service, (signal.reason as Error).name]));
        await emit('b', null);
        return gate.promise;
      },
    });
  }
  for (const type of ['b', 'c']) other.event({ type });
  hub.event({ type: 'b', handler: () => void seen.push('b') });
  hub.event({ type: 'c', handler: ({ payload }) => void seen.push(payload) });
  await hub.start();
  await other.start();
  const { id } = await hub.emit('a', 1);
  await hub.emit('a', 2);
  await clock.settle();
  expect(await hub.cancel(id)).toBe(true);
  expect(await hub.cancel(id)).toBe(false);
  await clock.settle();
  const failure = {
    error: expect.objectContaining({ name: 'CancelledError' }),
    event: expect.not.objectContaining({ attempt: expect.anything() }),
    payload: 1,
  };
  const names = ['shop', 'mail'].map((service) => [service, 'CancelledError']);
  expect(seen).toEqual(expect.arrayContaining([...names, failure, failure]));
  expect(seen).toHaveLength(4);
  for (const gate of gates) gate.resolve();
  await clock.settle();
  expect(seen.slice(4)).toEqual(
    expect.arrayContaining([
      ['shop', 'second'],
      ['mail', 'second'],
    ]),
  );
  expect(await hub.metrics('a')).toMatchObject({ completed: 2, failed: 2, cancelled: 2, pending: 0 });
  await other.stop();
});

it('ends a run that has not started', async () => {
  const { hub } = testHub();
  const flow = createWorkflow({ name: 'flow', steps: [{ name: 'one', handler: () => {} }] });
  hub.workflow(flow);
  await hub.start();
  const run = await hub.startWorkflow(flow, null, { delayMs: 1_000 });
  expect(await hub.cancel(run.runId)).toBe(true);
  await expect(run.result()).rejects.toThrow('was cancelled');
});

it.each([[7], [undefined]])('rejects the id %s', async (id) => {
  const { hub } = testHub();
  await hub.start();
  // Wrong on purpose: what the compiler would not let through.
  await expect(hub.cancel(id as never)).rejects.toThrow('id of cancel must be a string of 1 to 512 characters');
});

it('rejects before start', async () => {
  await expect(testHub().hub.cancel('x')).rejects.toMatchObject({ code: 'ERR_HUB_NOT_STARTED' });
});

it('ends a run by its id, from a read-only hub of any service too', async () => {
  const { hub, transport, clock } = testHub({ service: 'shop' });
  const seen: unknown[] = [];
  const wait = createWorkflow({ name: 'wait', onFailure: 'ended', run: ({ step }) => step.sleep('long', 60_000) });
  hub.workflow(wait);
  hub.event<{ error: { code: string } }>({
    type: 'ended',
    handler: ({ payload }) => void seen.push(payload.error.code),
  });
  await hub.start();
  const run = await hub.startWorkflow(wait, null);
  await clock.settle();
  expect((await run.status()).status).toBe('suspended');
  const stranger = createHub({ transport, observer: true, service: 'another' });
  const observer = createHub({ transport, observer: true, service: 'shop' });
  await expect(observer.cancel(run.runId)).rejects.toThrow('start');
  await Promise.all([stranger.start(), observer.start()]);
  expect(await stranger.cancel('unknown')).toBe(false);
  expect(await stranger.cancel(run.runId)).toBe(true);
  expect(await observer.cancel(run.runId)).toBe(false);
  await clock.settle();
  await expect(run.result()).rejects.toMatchObject({ failure: { name: 'WorkflowCancelledError' } });
  expect(seen).toEqual(['ERR_WORKFLOW_CANCELLED']);
  await Promise.all([stranger.stop(), observer.stop()]);
});

const endless = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

it.each<[string, (hub: Hub) => Promise<string>]>([
  ['delayed events', async (hub) => (await hub.emit('a', 1, { delayMs: 60_000 })).id],
  ['waiting events', async (hub) => (await hub.emit('a', 1)).id],
  ['waiting events of a key', async (hub) => (await hub.emit('keyed', 1)).id],
  ['waiting runs', async (hub) => (await hub.startWorkflow('running', 1)).runId],
  [
    'suspended runs beside waiting events',
    async (hub) => {
      await hub.emitMany('a', Array(10).fill(1));
      return (await hub.startWorkflow('suspended', 1)).runId;
    },
  ],
])('ends many %s in time that grows with their number', async (_, accept) => {
  const { hub, clock } = testHub({ concurrency: 1 });
  hub.event({ type: 'a', concurrency: 1, handler: endless });
  hub.event({ type: 'keyed', key: () => 'k', concurrencyPerKey: 1, handler: endless });
  hub.workflow(createWorkflow({ name: 'running', run: endless }));
  hub.workflow(createWorkflow({ name: 'suspended', run: ({ step }) => step.sleep('pause', 60_000) }));
  await hub.start();
  const end = async (count: number): Promise<number> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await accept(hub));
    await clock.settle();
    const before = process.cpuUsage();
    let ended = 0;
    for (const id of ids) if (await hub.cancel(id)) ended += 1;
    const usedMs = cpuMsSince(before);
    expect(ended).toBeGreaterThanOrEqual(count - 1);
    return usedMs / count;
  };
  await end(500);
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // What else the machine does adds to the time: the least of some rounds is what the work takes.
  for (let round = 0; round < 5 && !(many < 3 * few); round += 1) {
    few = Math.min(few, await end(500));
    many = Math.min(many, await end(4_000));
  }
  expect(many).toBeLessThan(3 * few);
});
