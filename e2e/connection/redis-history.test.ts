import type { Hub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { Redis } from 'ioredis';
import { built } from '../../scripts/page/built-classes.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { expect, test } from '../testing/fixtures.js';
import { eventRow } from '../testing/page-parts.js';

const minuteMs = 60_000;
const prefix = 'history';

/** Events that an older process counted, by the number of minutes that have passed since. */
const LIFE = new Map([
  [2, { received: 40, failed: 4 }],
  [3, { received: 30, failed: 0 }],
  [9, { received: 20, failed: 1 }],
  [15, { received: 50, failed: 50 }],
  [45, { received: 7, failed: 0 }],
]);

test('on Redis the page shows the history that an older process has written, and continues it', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  let running: Hub | undefined;
  try {
    const { origin, hub } = await serve({
      hubOptions: { transport: redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }) },
      register: (shop) => shop.event({ type: 'order.created', handler: () => {} }),
    });
    running = hub;
    const [seconds] = await admin.time();
    const now = Math.floor((Number(seconds) * 1_000) / minuteMs);
    const [found = ''] = await admin.keys(`*${prefix}*`);
    const start = found.slice(0, found.indexOf('}') + 1);
    for (const [ago, { received, failed }] of LIFE) {
      const counts = `r=${received} e20=${received - failed} f=${failed} w5=${received}`;
      await admin.hset(`${start}:counted:${now - ago}`, { 'order.created': counts, '/': counts });
      await admin.zadd(`${start}:counted-minutes`, now - ago, `${now - ago}`);
    }
    const labelOf = (minute: number): string =>
      [minute, minute + 1].map((each) => new Date(each * minuteMs).toISOString().slice(11, 16)).join('–');

    /** Returns the shown counts of each minute with events. */
    const shownMinutes = async (): Promise<Map<string, string>> =>
      new Map(
        await page.locator(built('.activity .data-table tbody tr')).evaluateAll((rows) =>
          rows
            .map((row) => [...row.children].map((cell) => cell.textContent ?? ''))
            .filter(([, ...counts]) => counts.some((count) => count !== '0'))
            // The day precedes the time if it is not today: most of the hour is yesterday's shortly after midnight.
            .map(([time = '', ...counts]): [string, string] => [time.replace(/^.*, /, ''), counts.join(' ')]),
        ),
      );
    const expected = new Map(
      [...LIFE].map(([ago, { received, failed }]) => [
        labelOf(now - ago),
        `${received} ${received - failed} ${failed}`,
      ]),
    );
    const expectLife = async (): Promise<void> => {
      await page.locator('.activity').getByText('View data').click();
      await expect
        .poll(async () => [...(await shownMinutes())].filter(([time]) => expected.has(time)))
        .toEqual([...expected]);
    };

    await page.goto(`${origin}/#/?every=1`);
    await expectLife();
    const row = eventRow(page, 'order.created');
    const failedBars = (await row.locator(built('.trend-failed')).getAttribute('d'))?.match(/M/g) ?? [];
    // The clock may pass into another minute, which removes no bar before the 20th minute is over.
    expect(failedBars).toHaveLength(3);

    for (let n = 0; n < 5; n += 1) await hub.emit('order.created', {});
    await expect(row.locator('.col-received')).toHaveText('5');
    const added = async (): Promise<number> =>
      [...(await shownMinutes())]
        .filter(([time]) => !expected.has(time))
        .reduce((sum, [, counts]) => sum + Number(counts.split(' ')[0]), 0);
    await expect.poll(added).toBe(5);
    // The next heartbeat moves the minutes to the history.
    await expect.poll(() => admin.zcount(`${start}:counted-minutes`, '-inf', `(${now}`)).toBe(0);
    await page.reload();
    await expectLife();
    await expect.poll(added).toBe(5);
  } finally {
    // While Redis answers: each call of a hub that stops without it takes as long as an emit may.
    await running?.stop({ drainMs: 0 });
    admin.disconnect();
    await server.release();
  }
});
