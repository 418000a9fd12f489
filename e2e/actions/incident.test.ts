import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Alert } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel } from '../testing/page-parts.js';
import { portOf } from '../testing/start-dashboard.js';
import { confirm, signIn, withActions } from './operations.js';

test('an incident from the alert to the replay, on the page alone', { tag: '@any-width' }, async ({ page, serve }) => {
  const alerts: Alert[] = [];
  const webhook = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    alerts.push(JSON.parse(text));
    res.end();
  });
  await once(webhook.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${portOf(webhook)}/`;
  let isBankDown = true;
  const charged: unknown[] = [];
  const dashboard = await serve(
    withActions((hub) => {
      hub.event({
        type: 'payment.requested',
        handler({ payload }) {
          if (isBankDown) throw new Error('bank is down');
          charged.push(payload);
        },
      });
      hub.alert({
        afterMs: 1_000,
        when: ({ kind }) => kind === 'failing',
        send: async (alert, { signal }) => {
          await fetch(url, { method: 'POST', body: JSON.stringify(alert), signal });
        },
      });
    }),
  );
  const { hub, origin } = dashboard;
  for (let n = 0; n < 5; n += 1) await hub.emit('payment.requested', n);
  await expect
    .poll(() => alerts.map(({ status, problem }) => [status, problem.eventType]))
    .toEqual([['firing', 'payment.requested']]);

  await signIn(page, dashboard, 'ada');
  await page.goto(origin);
  await page.getByRole('link', { name: 'payment.requested' }).first().click();
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel).toContainText('bank is down');
  await panel.getByRole('button', { name: 'Pause', exact: true }).click();
  await confirm(page, 'Pause', /^Paused/, 'bank is down');
  await hub.emit('payment.requested', 5);
  expect(await hub.metrics('payment.requested')).toMatchObject({ pending: 1 });

  isBankDown = false;
  await panel.getByRole('button', { name: 'Resume', exact: true }).click();
  await confirm(page, 'Resume', 'Resumed.', 'bank is back');
  await panel.getByRole('button', { name: /^Replay \d+ dead letter/ }).click();
  await confirm(page, 'Replay 5 dead letters', 'Replayed 5.', 'bank is back');
  await expect.poll(() => charged.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
  await expect.poll(() => alerts.at(-1)?.status).toBe('resolved');
  expect(new Set(alerts.map(({ incident }) => incident)).size).toBe(1);

  await page.goto(`${origin}/#/audit`);
  // The rows that have a cell: without the headers of the columns.
  const rows = page.getByRole('row').filter({ has: page.getByRole('cell') });
  await expect(rows).toHaveCount(3);
  const texts = await rows.allTextContents();
  for (const [index, action] of ['replay', 'resume', 'pause'].entries()) expect(texts[index]).toContain(action);
  for (const text of texts) expect(text).toMatch(/ada.*bank is/);
  webhook.close();
});
