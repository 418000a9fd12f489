import { expect, test } from 'vitest';
import type { Problem } from '../../server/dashboard/protocol.js';
import { SERVER_NOW } from '../testing/test-data.js';
import { describeProblem } from './problems.js';

const base = { severity: 'error', eventType: 'payment.requested' } as const;

test.each<[Omit<Problem, 'severity' | 'eventType'>, string, string, readonly string[]]>([
  [
    {
      kind: 'failing',
      failed: 38,
      ended: 760,
      lastAt: SERVER_NOW - 2_000,
      lastError: { name: 'FatalError', message: 'card declined' },
    },
    '38 of 760 failed in 5 min (5.0%)',
    '5.0% failed in 5 min',
    ['card declined', '2 s ago'],
  ],
  [
    { kind: 'failing', failed: 2, ended: 8, since: SERVER_NOW - 480_000, lastAt: SERVER_NOW - 2_000 },
    '2 of 8 failed in 5 min (25.0%)',
    '25.0% failed in 5 min',
    ['for 8 min, last 2 s ago'],
  ],
  [
    { kind: 'failing', failed: 2, ended: 8, since: SERVER_NOW - 60_000, lastAt: SERVER_NOW - 2_000 },
    '2 of 8 failed in 5 min (25.0%)',
    '25.0% failed in 5 min',
    ['2 s ago'],
  ],
  [
    { kind: 'backlog', pending: 12_400, since: SERVER_NOW - 540_000 },
    '12.4K pending and growing',
    '12.4K pending',
    ['for 9 min'],
  ],
  [{ kind: 'oldest-pending', since: SERVER_NOW - 3_600_000 }, 'the oldest event waits for 1 h', 'waits 1 h', []],
  [{ kind: 'no-process', service: 'mail', pending: 3 }, 'no process of mail, 3 pending', 'no process', []],
  [
    { kind: 'lost-process', count: 2, active: 3, lastAt: SERVER_NOW - 60_000 },
    '2 processes lost, 3 running events released',
    '2 processes lost',
    ['1 min ago'],
  ],
  [{ kind: 'lost-process', count: 1, active: 0 }, '1 process lost', '1 process lost', []],
  [{ kind: 'dead-letters', count: 1 }, '1 open dead letter', '1 open dead letter', []],
  [{ kind: 'approval-waiting', count: 2 }, '2 approvals wait', '2 approvals wait', []],
  [{ kind: 'awaiting-version', count: 1, version: 3 }, '1 run waits for version 3', '1 run waits for version 3', []],
  [{ kind: 'awaiting-version', count: 2 }, '2 runs wait for a higher version', '2 runs wait for a higher version', []],
  [
    { kind: 'failing', failed: 1, ended: 1, lastError: { name: 'TypeError', message: '' } },
    '1 of 1 failed in 5 min (100%)',
    '100% failed in 5 min',
    ['TypeError'],
  ],
])('describes %j', (problem, fact, shortFact, details) => {
  expect(describeProblem({ ...base, ...problem }, SERVER_NOW)).toMatchObject({
    subject: 'payment.requested',
    path: '#/events/payment.requested',
    fact,
    shortFact,
    details,
  });
});

test('names the release that started shortly before', () => {
  const releases = [
    { at: SERVER_NOW - 3_600_000, label: 'v1' },
    { at: SERVER_NOW - 240_000, label: 'v2' },
  ];
  const details = (since: number): readonly string[] =>
    describeProblem({ ...base, kind: 'backlog', pending: 12, since }, SERVER_NOW, releases).details;
  expect(details(SERVER_NOW - 120_000)).toEqual(['began 2 min after v2', 'for 2 min']);
  expect(details(SERVER_NOW - 270_000)).toEqual(['since v2', 'for 4 min']);
  const failing = { ...base, kind: 'failing', since: SERVER_NOW - 360_000 } as const;
  const lastError = { name: 'Error', message: 'card declined' };
  expect(describeProblem({ ...failing, lastError }, SERVER_NOW, releases).details).toEqual([
    'card declined',
    'more since v2',
    'for 6 min',
  ]);
  expect(details(SERVER_NOW - 1_200_000)).toEqual(['for 20 min']);
});

test('describes a kind that it does not know', () => {
  const problem: unknown = { kind: 'disk-full', severity: 'warning', service: 'shop' };
  const text = describeProblem(problem as Problem, SERVER_NOW);
  expect(text).toMatchObject({ subject: 'shop', fact: 'disk full', icon: 'clock', tone: 'stale' });
  expect(text.path).toBe('#/processes');
});

test('a failing workflow counts its runs', () => {
  const problem = { severity: 'error', kind: 'failing', workflow: 'fulfil', failed: 2, ended: 8 } as const;
  expect(describeProblem(problem, SERVER_NOW)).toMatchObject({
    subject: 'fulfil',
    fact: '2 of 8 ended runs failed in 5 min (25.0%)',
  });
});
