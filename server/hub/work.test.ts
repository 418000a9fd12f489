import { describe, expect, it, onTestFinished, test } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import type { Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import { HubObserverError, HubStartedError } from './errors.js';
import { deferred, testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

describe.each(everyTransport)('work on the %s transport', (_name, createTransport) => {
  function newHub(service: string, transport: Transport): Hub {
    const hub = createHub({ service, transport });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  it('leaves nothing that can start: events, follow-ups, near retries, runs, due times and what waits for a rate', async () => {
    const transport = createTransport();
    const web = newHub('web', transport);
    const subscribers = ['jobs'];
    for (const type of ['mail', 'rated', 'later']) web.event({ type, subscribers });
    await web.start();
    await web.emitMany('mail', [1, 2, 3]);
    await web.emitMany('rated', [1, 2, 3]);
    await web.emit('later', 1, { delayMs: 3_600_000 });

    const hub = newHub('jobs', transport);
    const handled: string[] = [];
    const note = (what: string): number => handled.push(what);
    const archive = createWorkflow({ name: 'archive', trigger: 'mailed', run: async () => void note('archived') });
    hub.workflow(archive);
    hub.event({
      type: 'mail',
      retry: { maxAttempts: 2, initialDelayMs: 20, jitter: false },
      onSuccess: 'mailed',
      handler: ({ payload, attempt }) => {
        if (payload === 2 && attempt === 1) throw new Error('busy');
        if (payload === 3) throw new Error('refused');
        note('mailed');
      },
    });
    hub.event({ type: 'mailed' });
    hub.event({ type: 'later', handler: () => void note('later') });
    hub.event({ type: 'rated', rate: { max: 1, perMs: 900 }, handler: () => void note('rated') });
    const result = await hub.work({ forMs: 600_000 });

    expect(handled.toSorted()).toEqual(
      [...Array(2).fill('archived'), ...Array(2).fill('mailed'), ...Array(3).fill('rated')].toSorted(),
    );
    // Two mails, a run of each, and what was rated.
    expect(result).toEqual({ completed: 7, failed: 1, retried: 2, released: 0, overdue: 0, endedBy: 'idle' });
    expect((await hub.ready()).isReady).toBe(false);
    expect(await web.metrics('later')).toMatchObject({ pending: 1, delayed: 1 });
  });

  it('ends after its time: what still runs drains, or is released to the next call', async () => {
    const transport = createTransport();
    const web = newHub('web', transport);
    web.event({ type: 'slow', subscribers: ['jobs'] });
    await web.start();
    const { id } = await web.emit('slow', 1);
    const first = newHub('jobs', transport);
    first.event({ type: 'slow', handler: ({ signal }) => new Promise((end) => signal.addEventListener('abort', end)) });
    expect(await first.work({ forMs: 300, drainMs: 1 })).toMatchObject({ completed: 0, released: 1, endedBy: 'time' });
    const second = newHub('jobs', transport);
    const seen: unknown[] = [];
    second.event({ type: 'slow', handler: ({ eventId, attempt }) => seen.push({ eventId, attempt }) });
    const working = second.work({ forMs: 600_000, idleMs: 400 });
    expect(await working).toMatchObject({ completed: 1, endedBy: 'idle' });
    expect(seen).toEqual([{ eventId: id, attempt: 1 }]);
  });
});

test('takes missed due times and runs whose sleep has ended, and ends when another caller stops the hub', async () => {
  const { hub: former, clock, transport } = testHub({ service: 'jobs' });
  const seen: string[] = [];
  const register = (hub: Hub): void => {
    hub.event({ type: 'tick', handler: ({ payload }) => void seen.push(`tick ${payload}`) });
    hub.schedule({ name: 'hourly', everyMs: 3_600_000, emit: 'tick', payload: (dueAt) => dueAt.getTime() });
    const nap = createWorkflow({
      name: 'nap',
      run: async ({ step }) => {
        await step.sleep('night', 5_400_000);
        seen.push('awake');
      },
    });
    hub.workflow(nap);
  };
  register(former);
  await former.start();
  await former.startWorkflow('nap', {});
  await clock.advance(0);
  await former.stop();
  await clock.advance(2 * 3_600_000);
  const due = Math.floor(clock.now() / 3_600_000) * 3_600_000;

  const { hub } = testHub({ service: 'jobs', transport });
  register(hub);
  const working = hub.work({ forMs: 60_000 });
  let result: unknown;
  void working.then((ended) => {
    result = ended;
  });
  while (result === undefined) await clock.advance(50);
  expect(result).toMatchObject({ completed: 2, endedBy: 'idle' });
  expect(seen.toSorted()).toEqual(['awake', `tick ${due}`]);

  const { hub: stopped } = testHub({ service: 'jobs', transport });
  const started = deferred();
  stopped.event({ type: 'endless', handler: () => started.promise });
  const endless = stopped.work({ forMs: 60_000 });
  await clock.advance(10);
  await stopped.emit('endless', 1);
  started.resolve();
  await stopped.stop();
  expect(await endless).toMatchObject({ completed: 1, endedBy: 'stop' });
});

test('refuses a hub that has started or is read-only, and options that are wrong', async () => {
  const { hub } = testHub();
  await expect(hub.work({ forMs: 0 })).rejects.toThrow(InvalidOptionError);
  await expect(hub.work(Object({ forMs: 5, idle: 1 }))).rejects.toThrow('idleMs');
  await expect(hub.work(Object({}))).rejects.toThrow('forMs');
  await hub.start();
  await expect(hub.work({ forMs: 5 })).rejects.toThrow(HubStartedError);
  const { hub: reader } = testHub({ observer: true });
  await expect(reader.work({ forMs: 5 })).rejects.toThrow(HubObserverError);
});
