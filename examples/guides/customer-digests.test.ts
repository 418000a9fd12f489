import { createHub, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createDigestHub, digestDue, scheduleDigest } from './customer-digests.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('workers fire a schedule that another process has set, once per due time', async () => {
    const shared = options();
    const sent: string[] = [];
    const web = await startHub(createHub({ ...shared, service: 'web' }));
    for (let index = 0; index < 2; index += 1) {
      await startHub(createDigestHub(async (customerId) => void sent.push(customerId), shared));
    }
    const startAt = Date.now() + 500;
    const times = { everyMs: 200, startAt, endAt: startAt + 1_000 };
    const digest = { name: 'digest', ...times, catchUp: 'all', emit: digestDue } as const;
    for (const key of ['ada', 'bo']) await web.schedules.set({ ...digest, key, payload: { customerId: key } });
    expect(await web.schedules.set({ ...digest, key: 'bo', payload: { customerId: 'bo' } })).toBe(false);
    const expected = Math.floor(times.endAt / 200) - Math.ceil(startAt / 200) + 1;
    await eventually(() => expect(sent).toHaveLength(2 * expected));
    await eventually(async () =>
      expect(await web.schedules.get('digest', 'ada')).toMatchObject({ last: { status: 'completed' } }),
    );
    expect(await web.schedules.list()).toMatchObject({ total: 2 });
    expect(await web.schedules.remove('digest', 'ada')).toBe(true);
    expect(await web.schedules.get('digest', 'ada')).toBeUndefined();
  });
});

test('each customer has the digest at the hour of their choice', async () => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const sent: string[] = [];
  const send = async (customerId: string): Promise<void> =>
    void sent.push(`${customerId} ${new Date(clock.now()).getUTCHours()}`);
  const hub = await startHub(createDigestHub(send, { transport: memoryTransport({ clock }) }));
  await scheduleDigest(hub, { customerId: 'ada', hour: 7, timeZone: 'Europe/Oslo' });
  await scheduleDigest(hub, { customerId: 'bo', hour: 7, timeZone: 'America/New_York' });
  for (let hour = 0; hour < 24; hour += 1) await clock.advance(3_600_000);
  await clock.settle();
  expect(sent).toEqual(['ada 6', 'bo 12']);
});
