import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import { createWorkflow } from '../runs/workflow.js';

describe.each(everyTransport)('lookups of a hub on the %s transport', (_name, createTransport) => {
  function newHub(options: HubOptions = {}): Hub {
    const hub = createHub({ transport: createTransport(), ...options });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  it('show a request as a tree of events and runs with attempts, steps and errors', async () => {
    const hub = newHub({ redact: ({ name, message }) => ({ name, message: message.replace('4711', '[card]') }) });
    const fulfil = createWorkflow({
      name: 'fulfil',
      trigger: 'paid',
      run: async ({ step }) => {
        await step.run('pick', () => ['private']);
        await step.sleep('rest', 60_000);
      },
    });
    hub.workflow(fulfil);
    hub.event({
      type: 'ordered',
      retry: { maxAttempts: 2, initialDelayMs: 0 },
      handler: async ({ attempt, emit }) => {
        if (attempt === 1) throw new Error('card 4711 declined');
        await emit('paid', 'private');
        await emit('mailed', 'private');
      },
    });
    hub.event({ type: 'paid', handler: () => {} });
    hub.event({
      type: 'mailed',
      handler: () => {
        throw new TypeError('no address');
      },
    });
    await hub.start();
    const { id } = await hub.emit('ordered', 'private', { requestId: 'request 7' });
    await vi.waitFor(async () => {
      const { events } = await hub.getRequest('request 7');
      expect(events.map(({ type, status }) => [type, status]).sort()).toEqual([
        ['fulfil', 'suspended'],
        ['mailed', 'failed'],
        ['ordered', 'completed'],
        ['paid', 'completed'],
      ]);
    });

    const request = await hub.getRequest('request 7');
    expect(request).toMatchObject({ requestId: 'request 7', isTruncated: false, missingCauses: 0 });
    const byType = new Map(request.events.map((event) => [event.type, event]));
    const [ordered, paid, mailed, run] = ['ordered', 'paid', 'mailed', 'fulfil'].map((type) => byType.get(type));
    expect([ordered?.causeId, paid?.causeId, mailed?.causeId, run?.causeId]).toEqual([undefined, id, id, paid?.id]);
    expect(ordered).toMatchObject({ id, kind: 'event', service: 'hub', attempt: 2 });
    expect(ordered?.attempts).toMatchObject([
      { attempt: 1, error: { name: 'Error', message: 'card [card] declined' } },
      { attempt: 2 },
    ]);
    expect(ordered?.attempts[0]?.error).not.toHaveProperty('stack');
    // A start that a store computes from a duration may be a millisecond early.
    expect(ordered?.waitMs).toBe(Math.max(0, (ordered?.startedAt ?? 0) - (ordered?.acceptedAt ?? 0)));
    expect(ordered?.runMs).toBeGreaterThanOrEqual(0);
    expect(mailed).toMatchObject({ error: { name: 'TypeError', message: 'no address' }, isDeadLetter: true });
    expect(run).toMatchObject({
      kind: 'workflow',
      attempts: [],
      steps: [
        { name: 'pick', status: 'completed' },
        { name: 'rest', kind: 'sleep', status: 'waiting', waitsFor: { dueAt: expect.any(Number) } },
      ],
    });
    expect(JSON.stringify([request, await hub.find(id), await hub.getRecent('ordered')])).not.toContain('private');
    expect(await hub.find(run?.id ?? '', { payloads: true })).toMatchObject([
      { payload: 'private', steps: [{ output: ['private'] }, {}] },
    ]);
    expect(await hub.find(mailed?.id ?? '', { payloads: true })).toMatchObject([{ payload: 'private' }]);
    expect(await hub.getRecent(fulfil)).toMatchObject({ newest: [{ id: run?.id, kind: 'workflow' }], failed: [] });
    expect(await hub.getRecent('mailed')).toMatchObject({ failed: [{ id: mailed?.id }] });

    expect(await hub.deadLetters('mailed', { requestId: 'request 7' })).toMatchObject([{ id: mailed?.id }]);
    expect(await hub.deadLetters('mailed', { requestId: 'another' })).toEqual([]);
    expect(await hub.deadLetters('mailed', { since: new Date(mailed?.endedAt ?? 0) })).toHaveLength(1);
    expect(await hub.deadLetters('mailed', { since: (mailed?.endedAt ?? 0) + 1 })).toEqual([]);
    expect(await hub.erase({ requestId: 'request 7' })).toEqual({ deadLetters: 1, runs: 0, pending: 1 });
    expect(await hub.deadLetters('mailed')).toEqual([]);
    expect(await hub.metrics('mailed')).toMatchObject({ received: 1, failed: 1, deadLetters: 0 });
  });

  it('show a cancelled run as cancelled, and its failed step if it failed', async () => {
    const hub = newHub();
    const wait = createWorkflow({ name: 'wait', run: ({ step }) => step.sleep('long', 60_000) });
    const break_ = createWorkflow({
      name: 'break',
      run: ({ step }) =>
        step.run('snap', () => {
          throw new Error('broken');
        }),
    });
    hub.workflow(wait);
    hub.workflow(break_);
    await hub.start();
    const waiting = await hub.startWorkflow(wait, null);
    const broken = await hub.startWorkflow(break_, null);
    await waiting.cancel('not needed');
    await expect(broken.result()).rejects.toThrow('broken');
    expect(await hub.find(waiting.runId)).toMatchObject([{ status: 'cancelled' }]);
    const [found] = await hub.find(broken.runId);
    expect(found).toMatchObject({
      status: 'failed',
      step: 'snap',
      steps: [{ name: 'snap', error: { message: 'broken' } }],
    });
  });
});

it('counts the time of parallel steps once, and names the step that invoked a run', async () => {
  const { hub, clock } = testHub();
  const child = createWorkflow({ name: 'child', run: ({ step }) => step.sleep('rest', 1_000) });
  const parent = createWorkflow({
    name: 'parent',
    run: async ({ step }) => {
      await step.map('shard', [1, 2, 3], () => new Promise<void>((resolve) => void clock.after(500, resolve)), {
        concurrency: 3,
      });
      await step.invoke('rest', child, null);
    },
  });
  hub.workflow(child);
  hub.workflow(parent);
  await hub.start();
  const { runId } = await hub.startWorkflow(parent, null);
  await clock.advance(500);
  await clock.advance(1_000);
  await clock.settle();
  const { events } = await hub.getRequest(runId);
  expect(events).toMatchObject([
    { type: 'parent', status: 'completed', runMs: 500 },
    { type: 'child', status: 'completed', causeId: runId, parentStep: 'rest' },
  ]);
  expect(events[0]).not.toHaveProperty('parentStep');
});

it('keeps a failed event apart from the newest ones', async () => {
  const { hub, clock } = testHub();
  hub.event<boolean>({
    type: 'paid',
    handler({ payload }) {
      if (!payload) throw new Error('declined');
    },
  });
  await hub.start();
  const { id } = await hub.emit('paid', false);
  await clock.advance(1);
  await hub.emitMany(
    'paid',
    Array.from({ length: 51 }, () => true),
  );
  await clock.settle();
  const { newest, failed } = await hub.getRecent('paid');
  expect([newest.length, newest.some((event) => event.id === id)]).toEqual([50, false]);
  expect(failed).toMatchObject([{ id, error: { message: 'declined' } }]);
});

it('refuses ids that no event has and options that nobody reads', async () => {
  const { hub } = testHub();
  await expect(hub.find('')).rejects.toThrow('id of find must be a string of 1 to 512 characters');
  await expect(hub.find('a', { payload: true } as object)).rejects.toThrow('option of find must be one of payloads');
  await expect(hub.getRequest('a\n')).rejects.toThrow('id of getRequest');
  await expect(hub.erase({ requestId: '' })).rejects.toThrow('requestId of erase');
  await expect(hub.erase({} as { requestId: string })).rejects.toThrow('requestId of erase');
  await expect(hub.getRecent('unknown')).rejects.toThrow('unknown');
  await expect(hub.deadLetters('a', { since: Number.NaN })).rejects.toThrow('since');
  expect(await hub.find('unknown')).toEqual([]);
  expect(await hub.getRequest('unknown')).toEqual({
    requestId: 'unknown',
    events: [],
    isTruncated: false,
    missingCauses: 0,
  });
});
