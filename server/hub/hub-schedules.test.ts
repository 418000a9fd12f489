import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createFakeClock } from '../testing/fake-clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { createHub } from './create-hub.js';
import { createEvent } from './events/event.js';
import { testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';
import type { StoredScheduleConfig } from './schedules/stored-schedule.js';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.UTC(2026, 0, 1);

const digestDue = createEvent({
  type: 'digest.due',
  schema: z.object({ customer: z.string(), kind: z.string().default('short') }),
  key: ({ customer }) => customer,
  tags: ({ customer }) => [customer],
});

/** A web process that handles nothing, and a worker that starts later, on one transport. */
async function scene(): Promise<{
  web: Hub;
  clock: ReturnType<typeof createFakeClock>;
  worker(): Promise<Hub>;
  seen: string[];
}> {
  const clock = createFakeClock(start);
  const transport = memoryTransport({ clock });
  const seen: string[] = [];
  const open = async (hub: Hub): Promise<Hub> => {
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    await hub.start();
    return hub;
  };
  const worker = (): Promise<Hub> => {
    const hub = createHub({ transport, service: 'mailer' });
    hub.event(digestDue, {
      handler: ({ payload: { customer, kind } }) =>
        void seen.push(`${new Date(clock.now()).toISOString().slice(11, 16)} ${customer} ${kind}`),
    });
    return open(hub);
  };
  return { web: await open(createHub({ transport, service: 'web' })), clock, worker, seen };
}

/** Advances the clock, and waits for what becomes due at its end. */
async function pass(clock: ReturnType<typeof createFakeClock>, ms: number): Promise<void> {
  await clock.advance(ms);
  await clock.settle();
}

const every = { name: 'digest', key: 'ada', everyMs: 10 * minute, emit: digestDue, payload: { customer: 'ada' } };

describe('a schedule that is set at run time', () => {
  it('emits with the definition of the hub that set it, in any hub, until it is removed', async () => {
    const { web, clock, worker, seen } = await scene();
    expect(await web.schedules.set(every)).toBe(true);
    expect(await web.schedules.set({ ...every, key: 'bo', payload: { customer: 'bo', kind: 'long' } })).toBe(true);
    await web.stop();
    const [one] = [await worker(), await worker()];
    await pass(clock, 20 * minute);
    expect(seen.sort()).toEqual(['00:10 ada short', '00:10 bo long', '00:20 ada short', '00:20 bo long']);
    expect(await one?.schedules.remove('digest', 'ada')).toBe(true);
    expect(await one?.schedules.remove('digest', 'ada')).toBe(false);
    await pass(clock, 10 * minute);
    expect(seen.slice(4)).toEqual(['00:30 bo long']);
    expect((await one?.search({ tag: 'bo', limit: 10 }))?.events).toHaveLength(3);
  });

  it('emits at once at each due time, however short its period', async () => {
    const { web, clock, worker, seen } = await scene();
    for (const hub of [await worker(), await worker()]) expect(await hub.schedules.list()).toMatchObject({ total: 0 });
    await web.schedules.set({ ...every, everyMs: 500 });
    await pass(clock, 5_000);
    await expect.poll(() => seen.length).toBe(10);
  });

  it('starts a workflow', async () => {
    const { hub, clock } = testHub();
    const inputs: unknown[] = [];
    const poll = createWorkflow({ name: 'poll', run: async ({ input }) => void inputs.push(input) });
    hub.workflow(poll);
    await hub.start();
    await hub.schedules.set({ name: 'poll', cron: '0 * * * *', start: poll, payload: 7 });
    await pass(clock, hour);
    expect(inputs).toEqual([7]);
  });

  it('does not change if it is set to equal values, and counts from now on if its times change', async () => {
    const { web, clock, worker, seen } = await scene();
    await worker();
    await web.schedules.set(every);
    await pass(clock, 7 * minute);
    expect(await web.schedules.set({ ...every, payload: { customer: 'ada', kind: 'short' } })).toBe(false);
    await pass(clock, 3 * minute);
    expect(await web.schedules.set({ ...every, payload: { customer: 'ada', kind: 'long' } })).toBe(true);
    await pass(clock, 10 * minute);
    expect(await web.schedules.set({ ...every, everyMs: 4 * minute })).toBe(true);
    await pass(clock, 10 * minute);
    expect(seen).toEqual(['00:10 ada short', '00:20 ada long', '00:24 ada short', '00:28 ada short']);
  });

  it('has its due times from startAt to endAt, both inclusive', async () => {
    const { web, clock, worker, seen } = await scene();
    await worker();
    await web.schedules.set({ ...every, startAt: new Date(start + 20 * minute), endAt: start + 40 * minute });
    expect(await web.schedules.get('digest', 'ada')).toMatchObject({ nextDueAt: start + 20 * minute });
    await pass(clock, hour);
    expect(seen.map((text) => text.slice(0, 5))).toEqual(['00:20', '00:30', '00:40']);
    const ended = await web.schedules.get('digest', 'ada');
    expect(ended).toMatchObject({ lastDueAt: start + 40 * minute, last: { status: 'completed' } });
    expect(ended).not.toHaveProperty('nextDueAt');
  });

  it.each([
    ['last', ['00:35', '00:40']],
    ['all', ['00:35', '00:35', '00:35', '00:40']],
    ['none', ['00:40']],
  ] as const)('with catchUp %s makes up for what was missed', async (catchUp, expected) => {
    const { web, clock, worker, seen } = await scene();
    await web.schedules.set({ ...every, catchUp });
    await pass(clock, 35 * minute);
    await worker();
    await pass(clock, 5 * minute);
    expect(seen.map((text) => text.slice(0, 5))).toEqual(expected);
  });

  it('is held by a pause of its name, and follows its catchUp when it is resumed', async () => {
    const { web, clock, worker, seen } = await scene();
    const hub = await worker();
    await web.schedules.set(every);
    await expect(hub.pause({ schedule: 'digests' }, { reason: 'x', by: 'ada' })).rejects.toThrow('digests');
    await hub.pause({ schedule: 'digest' }, { reason: 'incident', by: 'ada' });
    expect(await hub.schedules.get('digest', 'ada')).toMatchObject({ paused: { reason: 'incident' } });
    await pass(clock, 35 * minute);
    expect(seen).toEqual([]);
    await hub.resume({ schedule: 'digest' }, { by: 'ada' });
    await pass(clock, 10 * minute);
    expect(seen.map((text) => text.slice(3, 5))).toEqual(['35', '40']);
  });

  it('is listed after the schedules of hub.schedule, in pages', async () => {
    const { hub, clock } = testHub();
    hub.event(digestDue, { handler: () => {} });
    for (const name of ['b', 'a']) hub.schedule({ name, everyMs: hour, emit: digestDue, payload: { customer: name } });
    await hub.start();
    for (const key of ['3', '1', '2']) await hub.schedules.set({ ...every, key });
    await pass(clock, hour);
    const pages: string[][] = [];
    let after: string | undefined;
    do {
      const list = await hub.schedules.list({ limit: 2, ...(after !== undefined && { after }) });
      expect(list.total).toBe(5);
      for (const { last } of list.schedules) expect(last).toMatchObject({ status: 'completed' });
      pages.push(list.schedules.map(({ name, key = '' }) => name + key));
      after = list.next;
    } while (after !== undefined);
    expect(pages).toEqual([['a', 'b'], ['digest1', 'digest2'], ['digest3']]);
  });

  it('is part of the introspection without its key and payload, at most 50 of them', async () => {
    const { hub } = testHub();
    hub.event(digestDue, { handler: () => {} });
    await hub.start();
    expect(await hub.introspect()).not.toHaveProperty('storedSchedules');
    for (let index = 0; index < 51; index += 1) {
      await hub.schedules.set({ ...every, key: `secret${index}`, payload: { customer: `secret${index}` } });
    }
    const { schedules, storedSchedules } = await hub.introspect();
    expect([schedules.length, storedSchedules]).toEqual([50, 51]);
    const { name, everyMs, emit } = every;
    const described = { name, everyMs, emit: emit.type, catchUp: 'last', service: 'hub', processes: 1 };
    expect(schedules[0]).toEqual({ ...described, nextDueAt: expect.any(Number), storedId: expect.any(String) });
    expect(JSON.stringify(schedules)).not.toContain('secret');
  });

  it.each<[string, object]>([
    ['name of hub.schedules.set must be', { name: '' }],
    ['key of schedule "digest" must be', { key: '\n' }],
    ['everyMs of schedule "digest" must be milliseconds, from 100', { everyMs: 1 }],
    ['payload of schedule "digest" must be a JSON value', { payload: () => ({ customer: 'ada' }) }],
    ['startAt of schedule "digest" must be a date or epoch milliseconds', { startAt: 'tomorrow' }],
    ['endAt of schedule "digest" must be startAt or later', { startAt: 2, endAt: 1 }],
    [
      'concurrencyPerKey of event "digest.due" must be 1 if overlap of schedule "digest" is \'replace\'',
      { overlap: 'replace' },
    ],
    ['option of schedule "digest" must be one of', { every: 5 }],
    ['event type "nowhere" is not registered', { emit: 'nowhere' }],
    ['stored schedule of "digest" is', { payload: { customer: 'ada', kind: 'x'.repeat(16_384) } }],
    ['payload.customer', { payload: { customer: 7 } }],
  ])('rejects: %s', async (message, wrong) => {
    const { web } = await scene();
    // Wrong on purpose: what the compiler would not let through.
    await expect(web.schedules.set({ ...every, ...wrong } as StoredScheduleConfig)).rejects.toThrow(message);
    expect((await web.schedules.list()).total).toBe(0);
  });

  it('needs a hub that has started and is not read-only', async () => {
    await expect(testHub().hub.schedules.set(every)).rejects.toMatchObject({ code: 'ERR_HUB_NOT_STARTED' });
    await expect(testHub().hub.schedules.remove('a')).rejects.toMatchObject({ code: 'ERR_HUB_NOT_STARTED' });
    const observer = createHub({ observer: true });
    await expect(observer.schedules.set(every)).rejects.toMatchObject({ code: 'ERR_HUB_OBSERVER' });
    await expect(observer.schedules.list({ after: 'x' })).rejects.toThrow('after of schedules.list must be');
  });
});
