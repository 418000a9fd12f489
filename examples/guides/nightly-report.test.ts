import { memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { describe, expect, test, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createReportHub, type Services } from './nightly-report.js';

function services(): Services & { readonly sent: { day: string; net: number }[] } {
  const sent: { day: string; net: number }[] = [];
  return { sent, sales: async () => 100, refunds: async () => 10, send: async (report) => void sent.push(report) };
}

describe.each(everyTransport)('on %s', (_name, options) => {
  test('two processes send one report per due time', async () => {
    const shop = services();
    const shared = options();
    const startedAt = Date.now();
    const [hub] = await Promise.all([1, 2].map(() => startHub(createReportHub(shop, { everyMs: 200 }, shared))));
    await vi.waitFor(() => expect(shop.sent.length).toBeGreaterThanOrEqual(3));
    expect(shop.sent[0]).toEqual({ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), net: 90 });

    const before = await hub?.introspect();
    const after = await hub?.introspect();
    const received = before?.workflows[0]?.metrics.received;
    const dueTimes = Math.floor((after?.schedules[0]?.lastDueAt ?? 0) / 200) - Math.floor(startedAt / 200);
    expect(received).toBeGreaterThanOrEqual(3);
    expect(received).toBeLessThanOrEqual(dueTimes);
  });
});

test('reports each day once, also on the day on which clocks skip two o’clock', async () => {
  const clock = createFakeClock(Date.UTC(2026, 2, 27, 12));
  const shop = services();
  await startHub(createReportHub(shop, undefined, { transport: memoryTransport({ clock }) }));
  const sentAt: string[] = [];
  for (let hour = 0; hour < 72; hour += 1) {
    const before = shop.sent.length;
    await clock.advance(3_600_000);
    if (shop.sent.length > before) sentAt.push(new Date(clock.now()).toISOString());
  }
  expect(shop.sent.map(({ day }) => day)).toEqual(['2026-03-27', '2026-03-28', '2026-03-29']);
  expect(sentAt).toEqual(['2026-03-28T01:00:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:00:00.000Z']);
});
