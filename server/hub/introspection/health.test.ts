import { expect, it } from 'vitest';
import type { Counts, PeriodCounts } from '../../transports/statistics/stats.js';
import { computeHealth, type HealthSource } from './health.js';

const now = 1_000_000_000;
const noMetrics: Counts = {
  received: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  pending: 0,
  active: 0,
  delayed: 0,
  suspended: 0,
  retried: 0,
  deduplicated: 0,
  deadLetters: 0,
};
const noPeriod: PeriodCounts = { received: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 };

type Event = HealthSource['events'][number];

function event(type: string, metrics: Partial<Counts>, last5Min: Partial<PeriodCounts> = {}): Event {
  return {
    type,
    kind: 'handler',
    metrics: { ...noMetrics, ...metrics },
    recent: {
      last5Min: { ...noPeriod, ...last5Min },
      waitP95Ms: null,
      durationP95Ms: null,
      minutes: { received: [], failed: [] },
    },
  };
}

function source(events: readonly Event[], rest: Partial<HealthSource> = {}): HealthSource {
  const hub = { service: 's', transport: 'memory', version: '1', startedAt: 0, now, keepsDeadLetters: true };
  return { hub, events, workflows: [], schedules: [], ...rest };
}

it.each<[string, Event, object | undefined]>([
  ['healthy', event('a', { received: 5, completed: 5 }, { received: 5, completed: 5 }), undefined],
  [
    'failing in the last 5 minutes',
    event('a', { deadLetters: 2, lastFailedAt: now - 1 }, { completed: 8, failed: 2 }),
    { kind: 'failing', severity: 'error', eventType: 'a', failed: 2, ended: 10, lastAt: now - 1, count: 2 },
  ],
  [
    'one failure in thousands',
    event('a', { deadLetters: 1 }, { completed: 2_424, failed: 1 }),
    { kind: 'failing', severity: 'warning', failed: 1, ended: 2_425 },
  ],
  ['failures whose dead letters were replayed', event('a', {}, { failed: 2 }), undefined],
  ['only cancelled events', event('a', { deadLetters: 0 }, { failed: 2, cancelled: 2 }), undefined],
  [
    'open dead letters of an earlier time',
    event('a', { deadLetters: 3 }, { completed: 1 }),
    { kind: 'dead-letters', severity: 'warning', count: 3 },
  ],
  [
    'a backlog that grows',
    event('a', { pending: 150, active: 10, oldestPendingAt: now - 5 }, { received: 50, completed: 10 }),
    { kind: 'backlog', severity: 'warning', pending: 150, since: now - 5 },
  ],
  ['a large backlog that shrinks', event('a', { pending: 150, oldestPendingAt: now }, { completed: 10 }), undefined],
  [
    'an event that waits for more than 5 minutes',
    event('a', { pending: 1, oldestPendingAt: now - 300_000 }),
    { kind: 'oldest-pending', severity: 'warning', since: now - 300_000 },
  ],
  ['a delayed event', event('a', { pending: 1, delayed: 1, oldestPendingAt: now - 900_000 }), undefined],
  ['a handler that runs for long', event('a', { pending: 1, active: 1, oldestPendingAt: now - 900_000 }), undefined],
  [
    'events without a process',
    {
      ...event('a', { pending: 1 }),
      services: [{ service: 'mail', processes: 0, metrics: { ...noMetrics, pending: 1, oldestPendingAt: 7 } }],
    },
    { kind: 'no-process', severity: 'error', service: 'mail', pending: 1, since: 7 },
  ],
])('derives the problem of a type: %s', (_, subject, problem) => {
  const { problems } = computeHealth(source([subject]));
  expect(problems).toHaveLength(problem === undefined ? 0 : 1);
  if (problem !== undefined) expect(problems[0]).toMatchObject(problem);
});

it('counts a type as failing without dead letters if the transport keeps none', () => {
  const { hub } = source([]);
  const health = computeHealth(source([event('a', {}, { failed: 1 })], { hub: { ...hub, keepsDeadLetters: false } }));
  expect(health.status).toBe('failing');
});

it('lists at most 50 problems, the worst first', () => {
  const old = Array.from({ length: 60 }, (_, n) => event(`old ${n}`, { deadLetters: n + 1 }));
  const bad = event('bad', { deadLetters: 1 }, { completed: 1, failed: 1 });
  const worse = event('worse', { deadLetters: 1 }, { failed: 1 });
  const { status, problems, problemCount } = computeHealth(source([...old, bad, worse]));
  expect([status, problemCount, problems.length]).toEqual(['failing', 62, 50]);
  expect(problems.slice(0, 3).map(({ eventType }) => eventType)).toEqual(['worse', 'bad', 'old 59']);
});

it('reports a schedule that no process runs', () => {
  const schedule = { name: 'nightly', service: 's', processes: 0, catchUp: 'none' as const, lastDueAt: 5 };
  const { status, problems } = computeHealth(source([], { schedules: [schedule] }));
  expect(status).toBe('degraded');
  expect(problems).toEqual([
    { kind: 'overdue-schedule', severity: 'warning', schedule: 'nightly', service: 's', lastAt: 5 },
  ]);
});
