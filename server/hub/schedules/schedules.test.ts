import { describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger, type Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import { createWorkflow } from '../runs/workflow.js';
import type { CatchUp, ScheduleConfig } from './schedule.js';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.UTC(2026, 0, 1);

/** A hub with an event `tick` that records the times of its runs. */
function tickingHub(transport: Transport, schedule: Partial<ScheduleConfig>, runs: string[] = []): Hub {
  const hub = createHub({ transport });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const tick = hub.event<{ at: string }>({
    type: 'tick',
    handler: ({ payload }) => runs.push(payload.at.slice(11, 19)),
  });
  // The times come from `schedule`, which has one of the two kinds.
  hub.schedule({
    name: 'ticking',
    emit: tick,
    payload: (dueAt: Date) => ({ at: dueAt.toISOString() }),
    ...schedule,
  } as ScheduleConfig);
  return hub;
}

describe('a schedule', () => {
  it('emits its event at each due time', async () => {
    const { hub, clock } = testHub();
    const seen: unknown[] = [];
    const reportDue = hub.event<{ kind: string }>({
      type: 'report.due',
      handler: ({ payload, eventId, requestId, depth }) => seen.push({ payload, isOwn: eventId === requestId, depth }),
    });
    hub.schedule({
      name: 'nightly',
      cron: '0 2 * * *',
      timeZone: 'Europe/Oslo',
      emit: reportDue,
      payload: { kind: 'x' },
    });
    await hub.start();
    await clock.advance(hour - 1);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([{ payload: { kind: 'x' }, isOwn: true, depth: 0 }]);
    await clock.advance(48 * hour);
    expect(seen).toHaveLength(3);
  });

  it('starts a workflow with a payload computed from the due time', async () => {
    const { hub, clock } = testHub();
    const inputs: unknown[] = [];
    const poll = createWorkflow({
      name: 'poll',
      steps: [{ name: 'ask', handler: ({ payload }) => inputs.push(payload) }],
    });
    hub.workflow(poll);
    hub.schedule({ name: 'poll', everyMs: 7_000, start: poll, payload: (dueAt) => dueAt.getTime() });
    await hub.start();
    await clock.advance(21_000);
    const first = Math.ceil((start + 1) / 7_000) * 7_000;
    expect(inputs).toEqual([first, first + 7_000, first + 14_000]);
  });

  it('emits one event per due time, however many processes have it', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    const hubs = Array.from({ length: 3 }, () => tickingHub(transport, { everyMs: minute }, runs));
    for (const hub of hubs) await hub.start();
    await clock.advance(3 * minute);
    expect(runs).toEqual(['00:01:00', '00:02:00', '00:03:00']);
    await hubs[0]?.stop();
    await hubs[2]?.stop();
    await clock.advance(2 * minute);
    expect(runs.slice(3)).toEqual(['00:04:00', '00:05:00']);
  });

  it('belongs to its service', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    for (const service of ['mail', 'shop']) {
      const hub = createHub({ transport, service });
      onTestFinished(async () => {
        await hub.stop({ drainMs: 0 });
      });
      hub.event({ type: `${service}.tick`, handler: () => runs.push(service) });
      hub.schedule({ name: 'tick', everyMs: minute, emit: `${service}.tick`, payload: null });
      await hub.start();
    }
    await clock.advance(minute);
    expect(runs.sort()).toEqual(['mail', 'shop']);
  });

  it.each<[CatchUp | undefined, string[]]>([
    [undefined, ['00:06:00']],
    ['last', ['00:06:00']],
    ['all', ['00:02:00', '00:03:00', '00:04:00', '00:05:00', '00:06:00']],
    ['none', []],
  ])('with catchUp %s makes up for %j after no process ran', async (catchUp, expected) => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const schedule = { everyMs: minute, ...(catchUp !== undefined && { catchUp }) };
    const before: string[] = [];
    const first = tickingHub(transport, schedule, before);
    await first.start();
    await clock.advance(minute);
    expect(before).toEqual(['00:01:00']);
    await first.stop();
    await clock.advance(5 * minute);
    const after: string[] = [];
    // Both start after the gap, and only one of them makes up for it.
    await tickingHub(transport, schedule, after).start();
    await tickingHub(transport, schedule, after).start();
    await clock.settle();
    expect(after).toEqual(expected);
    await clock.advance(minute);
    expect(after.at(-1)).toBe('00:07:00');
  });

  it('counts from its first start: no due time was missed before', async () => {
    const clock = createFakeClock(start + 30_000);
    const runs: string[] = [];
    await tickingHub(memoryTransport({ clock }), { everyMs: minute, catchUp: 'all' }, runs).start();
    await clock.advance(45_000);
    expect(runs).toEqual(['00:01:00']);
  });

  it('is not missed while another process runs', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    const [one, two] = [0, 1].map(() => tickingHub(transport, { everyMs: minute, catchUp: 'none' }, runs));
    await one?.start();
    await clock.advance(minute);
    await two?.start();
    await one?.stop();
    await clock.advance(3 * minute);
    expect(runs).toEqual(['00:01:00', '00:02:00', '00:03:00', '00:04:00']);
  });

  it('logs a payload function that fails and continues with the next due time', async () => {
    const { hub, clock, log } = testHub();
    const seen: unknown[] = [];
    const tick = hub.event<number>({ type: 'tick', handler: ({ payload }) => seen.push(payload) });
    const payload = (dueAt: Date): number => {
      if (dueAt.getTime() === start + minute) throw new Error('no payload yet');
      return dueAt.getTime() - start;
    };
    hub.schedule({ name: 'a', everyMs: minute, emit: tick, payload });
    await hub.start();
    await clock.advance(2 * minute);
    expect(seen).toEqual([2 * minute]);
    expect(log).toMatchObject([{ level: 'error', fields: { schedule: 'a', dueAt: start + minute } }]);
  });

  it('claims later what the transport refused', async () => {
    const { hub, clock, log } = testHub({ maxPending: 1 });
    const runs: number[] = [];
    hub.event({ type: 'tick', handler: () => void runs.push(1) });
    hub.event({ type: 'later', handler: () => {} });
    hub.schedule({ name: 'a', everyMs: minute, emit: 'tick', payload: null });
    await hub.start();
    const { id } = await hub.emit('later', null, { delayMs: hour });
    await clock.advance(minute);
    expect(runs).toHaveLength(0);
    expect(log).toMatchObject([{ level: 'warn', fields: { schedule: 'a', err: { code: 'ERR_BACKPRESSURE' } } }]);
    await hub.cancel(id);
    await clock.advance(5_000);
    expect(runs).toHaveLength(1);
  });
});

it('a process that starts leaves no due time out that a slow process has yet to claim', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const slow = transport.connect({ service: 'hub', logger: silentLogger });
  await slow.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  const record = { name: 'ticking', definition: 'other', times: '{"everyMs":20000}', position: start };
  await slow.schedules.open([{ ...record, revision: undefined }]);
  await clock.advance(50_000);
  const runs: string[] = [];
  await tickingHub(transport, { everyMs: 20_000, catchUp: 'none' }, runs).start();
  await clock.settle();
  expect(runs).toEqual(['00:00:20', '00:00:40']);
});

describe('a changed schedule', () => {
  it('takes effect when the hub that has it starts, and gives way when that hub stops', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    const old = tickingHub(transport, { everyMs: 5 * minute }, runs);
    await old.start();
    await clock.advance(5 * minute);
    const changed = tickingHub(transport, { everyMs: 2 * minute }, runs);
    await changed.start();
    await clock.advance(5 * minute);
    expect(runs.splice(0)).toEqual(['00:05:00', '00:06:00', '00:08:00', '00:10:00']);
    await changed.stop();
    await clock.advance(10 * minute);
    expect(runs).toEqual(['00:15:00', '00:20:00']);
  });

  it('does not make up for times that it did not have', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    const old = tickingHub(transport, { cron: '0 5 * * *' }, runs);
    await old.start();
    await old.stop();
    await clock.advance(4 * hour);
    await tickingHub(transport, { cron: '0 3 * * *' }, runs).start();
    await clock.advance(hour);
    expect(runs).toEqual([]);
    await clock.advance(22 * hour);
    expect(runs).toEqual(['03:00:00']);
  });

  it('with other payloads makes up for what was missed', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const old = tickingHub(transport, { everyMs: hour });
    await old.start();
    await old.stop();
    await clock.advance(hour);
    const seen: unknown[] = [];
    const hub = tickingHub(transport, { everyMs: hour, emit: 'tock', payload: 'new' });
    hub.event({ type: 'tock', handler: ({ payload }) => seen.push(payload) });
    await hub.start();
    await clock.settle();
    expect(seen).toEqual(['new']);
  });
});

describe('a removed schedule', () => {
  it('ends: it starts anew if it comes back', async () => {
    const clock = createFakeClock();
    const transport = memoryTransport({ clock });
    const runs: string[] = [];
    const old = tickingHub(transport, { everyMs: hour, catchUp: 'all' }, runs);
    await old.start();
    const newer = tickingHub(transport, { name: 'other', cron: '0 23 * * *' }, runs);
    await newer.start();
    await clock.advance(hour);
    expect(runs).toEqual(['01:00:00']);
    await old.stop();
    await clock.advance(3 * hour);
    await tickingHub(transport, { everyMs: hour, catchUp: 'all' }, runs).start();
    await clock.advance(hour);
    expect(runs).toEqual(['01:00:00', '05:00:00']);
  });
});
