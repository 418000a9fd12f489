import { expect, test } from 'vitest';
import type { Problem } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { countsOf, eventOf, SERVER_NOW } from '../testing/test-data.js';
import { longestWait } from './overview.js';

const MINUTE = 60_000;
const base = { severity: 'warning', eventType: 'report.due' } as const;

test.each<[string | null, readonly Problem[]]>([
  [null, []],
  [null, [{ ...base, kind: 'failing', since: SERVER_NOW - MINUTE }]],
  [null, [{ ...base, kind: 'backlog' }]],
  ['one waits for 26 min', [{ ...base, kind: 'oldest-pending', since: SERVER_NOW - 26 * MINUTE }]],
  ['no process for 2 h', [{ ...base, kind: 'no-process', since: SERVER_NOW - 120 * MINUTE }]],
  [
    'one waits for 9 min',
    [
      { ...base, kind: 'oldest-pending', since: SERVER_NOW - 6 * MINUTE },
      { ...base, kind: 'backlog', since: SERVER_NOW - 9 * MINUTE },
      // Key figures do not count runs.
      { kind: 'oldest-pending', severity: 'error', workflow: 'fulfil', since: SERVER_NOW - 50 * MINUTE },
    ],
  ],
])('the longest wait is %j', (text, problems) => {
  expect(longestWait(problems, SERVER_NOW)).toBe(text);
});

test('a stuck queue stands beside the waiting time, and the pending events keep their own caption', async () => {
  const oldestPendingAt = SERVER_NOW - 26 * MINUTE;
  const api = createFakeApi([eventOf('report.due')]);
  const { introspection } = api;
  let active = 0;
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const metrics = countsOf(3, 0, { pending: 9, active, suspended: 2, oldestPendingAt });
    const totals = { ...response.introspection.totals, metrics };
    return { ...response, introspection: { ...response.introspection, totals } };
  };
  const kpis = (): (string | null)[] => [...document.querySelectorAll('.kpi')].map(({ textContent }) => textContent);
  const page = await openPage(api);
  expect(kpis().slice(3, 5)).toEqual(['Pending events oldest 26 min, 2 suspended9', 'Waiting p95 5 min—']);
  const stuck: Problem = { ...base, kind: 'oldest-pending', since: oldestPendingAt };
  api.health = { status: 'degraded', problems: [stuck], problemCount: 1 };
  await page.poll();
  expect(kpis().slice(3, 5)).toEqual([
    'Pending events oldest 26 min, 2 suspended9',
    'Waiting p95, 5 min one waits for 26 min—',
  ]);
  // The oldest may be the one that runs.
  active = 1;
  await page.poll();
  expect(kpis()[3]).toBe('Pending events 1 running, 2 suspended9');
  expect(document.querySelector('.kpi-period.tone-stale')?.closest('.kpi')?.textContent).toContain('Waiting p95');
});
