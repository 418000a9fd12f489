import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import type { Alert, AlertOptions } from './alerts.js';

let clock: FakeClock;
let transport: Transport;
beforeEach(() => {
  clock = createFakeClock();
  transport = memoryTransport({ clock });
});

/** Starts a process of the service that declines each payment, and sends alerts. */
async function startShop(alert: Partial<AlertOptions>, options: HubOptions = {}): Promise<Hub> {
  const hub = createHub({ service: 'shop', transport, logger: false, ...options });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  hub.event({ type: 'paid', handler: () => Promise.reject(new Error('declined')) });
  hub.alert({ afterMs: 10_000, send: () => {}, ...alert });
  await hub.start();
  return hub;
}

function summaries(alerts: readonly Alert[]): string[] {
  return alerts.map(({ status, count, problem }) => `${status} ${count} ${problem.kind} ${problem.eventType}`);
}

async function fail(hub: Hub): Promise<string> {
  const { id } = await hub.emit('paid', { card: 'secret' });
  await clock.settle();
  return id;
}

describe('an alert', () => {
  it('is sent when a problem has lasted, again while it lasts, and when it is resolved', async () => {
    const alerts: Alert[] = [];
    const hub = await startShop({
      when: ({ kind }) => kind === 'failing',
      repeatMs: 60_000,
      send: (alert) => void alerts.push(alert),
    });
    await clock.advance(5_000);
    const id = await fail(hub);
    await clock.advance(9_000);
    expect(alerts).toEqual([]);
    await clock.advance(3_000);
    expect(summaries(alerts)).toEqual(['firing 1 failing paid']);
    await clock.advance(62_000);
    expect(summaries(alerts)).toEqual(['firing 1 failing paid', 'firing 2 failing paid']);
    await hub.cancel(id);
    await clock.advance(6 * 60_000);
    expect(summaries(alerts).at(-1)).toMatch(/^resolved \d failing paid$/);
    const [first, second] = alerts;
    expect(new Set(alerts.map(({ id: each }) => each)).size).toBe(alerts.length);
    expect(new Set(alerts.map(({ incident }) => incident)).size).toBe(1);
    expect(first).toMatchObject({ name: 'default', service: 'shop', since: expect.any(Number) });
    expect(second?.since).toBe(first?.since);
    expect(JSON.stringify(alerts)).not.toContain('secret');
    const count = alerts.length;
    await clock.advance(120_000);
    expect(alerts).toHaveLength(count);
  });

  it('is not sent for a problem that ends before', async () => {
    const send = vi.fn();
    const hub = await startShop({ afterMs: 600_000, when: ({ kind }) => kind === 'failing', send });
    await fail(hub);
    await clock.advance(900_000);
    expect(send).not.toHaveBeenCalled();
  });

  it('is sent again with the same id until send succeeds, and later messages wait', async () => {
    const ids: string[] = [];
    let isDown = true;
    const hub = await startShop({
      afterMs: 0,
      when: ({ kind }) => kind === 'failing',
      send: async ({ id }) => {
        ids.push(id);
        if (isDown) throw new Error('down');
      },
    });
    await fail(hub);
    await clock.advance(10_000);
    expect(ids.length).toBeGreaterThan(2);
    expect(new Set(ids).size).toBe(1);
    isDown = false;
    await clock.advance(60_000);
    const tries = ids.length;
    await clock.advance(60_000);
    expect(ids).toHaveLength(tries);
  });

  it('aborts a send that does not settle, and sends again', async () => {
    const signals: AbortSignal[] = [];
    const hub = await startShop({
      afterMs: 0,
      when: ({ kind }) => kind === 'failing',
      send: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    await fail(hub);
    await clock.advance(5_000);
    expect(signals).toHaveLength(1);
    await clock.advance(40_000);
    expect(signals).toHaveLength(2);
    expect(signals[0]?.aborted).toBe(true);
  });

  it('is sent by one process of the service, and by another one when that one stops', async () => {
    const sent: [process: number, status: string][] = [];
    const start = (process: number): Promise<Hub> =>
      startShop({
        repeatMs: 20_000,
        when: ({ kind }) => kind === 'failing',
        send: ({ status }) => void sent.push([process, status]),
      });
    const first = await start(1);
    const second = await start(2);
    const third = await start(3);
    await clock.advance(2_000);
    await fail(first);
    await clock.advance(12_000);
    expect(sent).toHaveLength(1);
    const leader = sent[0]?.[0] ?? 0;
    await [first, second, third][leader - 1]?.stop({ drainMs: 0 });
    await clock.advance(40_000);
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.slice(1).every(([process]) => process !== leader)).toBe(true);
    expect(new Set(sent.slice(1).map(([process]) => process)).size).toBe(1);
  });

  it('may be added before the start and after it, with a name of its own', async () => {
    const names: string[] = [];
    const send = ({ name }: Alert): void => void names.push(name);
    const hub = await startShop({ send, afterMs: 0, when: ({ kind }) => kind === 'failing' });
    hub.alert({ name: 'mail', send, afterMs: 0, when: ({ kind }) => kind === 'failing' });
    expect(() => hub.alert({ send, afterMs: 0 })).toThrow('alert "default" is already registered');
    await fail(hub);
    await clock.advance(3_000);
    expect(names.toSorted()).toEqual(['default', 'mail']);
  });
});

it.each([
  ['afterMs', { afterMs: -1 }],
  ['repeatMs', { repeatMs: 10 }],
  ['send', { send: 'https://hooks.example.com' }],
  ['when', { when: 'failing' }],
  ['option of alert', { every: 1 }],
])('refuses a wrong %s', (name, wrong) => {
  const { hub } = testHub();
  expect(() => Reflect.apply(hub.alert, hub, [{ afterMs: 0, send: () => {}, ...wrong }])).toThrow(name);
});
