import { expect, it } from 'vitest';
import { noActivity } from '../../transports/statistics/periods.js';
import { type Counts, type PeriodCounts, sumCounts } from '../../transports/statistics/stats.js';
import { computeHealth, type HealthSource } from './health.js';

const now = 1_000_000_000;
const noMetrics = sumCounts([]);

type Event = HealthSource['events'][number];

function event(type: string, metrics: Partial<Counts>, last5Min: Partial<PeriodCounts> = {}): Event {
  return {
    type,
    kind: 'handler',
    metrics: { ...noMetrics, ...metrics },
    recent: {
      last5Min: { ...noActivity.last5Min, ...last5Min },
      waitP95Ms: null,
      durationP95Ms: null,
      minutes: { received: [], failed: [] },
    },
  };
}

function source(events: readonly Event[], rest: Partial<HealthSource> = {}): HealthSource {
  const hub = { service: 's', transport: 'memory', version: '1', startedAt: 0, now, retainsDeadLetters: true };
  return { hub, events, workflows: [], schedules: [], pauses: [], releases: [], lost: [], ...rest };
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
  ['only cancelled events', event('a', {}, { failed: 2, cancelled: 2 }), undefined],
  [
    'cancelled events beside a dead letter of an earlier time',
    event('a', { deadLetters: 1 }, { completed: 8, failed: 2, cancelled: 2 }),
    { kind: 'dead-letters', count: 1 },
  ],
  [
    'cancelled events beside a failed one',
    event('a', { deadLetters: 1 }, { completed: 8, failed: 3, cancelled: 2 }),
    { kind: 'failing', failed: 1, ended: 9 },
  ],
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
  [
    'a backlog that grows, and in which an event waits for more than 5 minutes',
    event('a', { pending: 150, active: 1, oldestPendingAt: now - 300_000 }, { received: 50, completed: 10 }),
    { kind: 'backlog', severity: 'error' },
  ],
  [
    'a backlog that grows beside an old event that waits for its time',
    event('a', { pending: 150, delayed: 1, oldestPendingAt: now - 300_000 }, { received: 50, completed: 10 }),
    { kind: 'backlog', severity: 'warning' },
  ],
  ['a large backlog that shrinks', event('a', { pending: 150, oldestPendingAt: now }, { completed: 10 }), undefined],
  [
    'an event that waits for more than 5 minutes',
    event('a', { pending: 1, oldestPendingAt: now - 300_000 }),
    { kind: 'oldest-pending', severity: 'error', since: now - 300_000 },
  ],
  [
    'an event that waits for more than 5 minutes while others end',
    event('a', { pending: 1, oldestPendingAt: now - 300_000 }, { completed: 1 }),
    { kind: 'oldest-pending', severity: 'warning' },
  ],
  ['a delayed event', event('a', { pending: 1, delayed: 1, oldestPendingAt: now - 900_000 }), undefined],
  [
    'an event that has just come, behind a handler that runs for long',
    event('a', { pending: 2, active: 1, oldestPendingAt: now - 900_000 }, { received: 1 }),
    undefined,
  ],
  [
    'more events than came in 5 minutes, behind a handler that runs for long',
    event('a', { pending: 4, active: 1, oldestPendingAt: now - 900_000 }, { received: 2 }),
    { kind: 'oldest-pending', severity: 'warning', since: now - 900_000 },
  ],
  [
    'many events of which none ends, beside few delayed ones',
    event('a', { pending: 150, delayed: 1, oldestPendingAt: now - 900_000 }),
    { kind: 'oldest-pending', severity: 'error', pending: 150 },
  ],
  [
    'delayed events of which half are due',
    event('a', { pending: 300, delayed: 150, oldestPendingAt: now - 900_000 }),
    undefined,
  ],
  [
    'an event that waits for its key while others start',
    { ...event('a', { pending: 2, active: 1, oldestPendingAt: now - 900_000 }, { received: 50 }), hasKey: true },
    { kind: 'oldest-pending', severity: 'warning', since: now - 900_000 },
  ],
  [
    'events that wait for one of two services',
    {
      ...event('a', { pending: 18, active: 1, oldestPendingAt: now - 900_000 }, { received: 30, completed: 15 }),
      services: ['mail', 'shop'].map((service) => ({ service, processes: 1, metrics: noMetrics })),
    },
    { kind: 'oldest-pending', severity: 'warning' },
  ],
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
  const health = computeHealth(source([event('a', {}, { failed: 1 })], { hub: { ...hub, retainsDeadLetters: false } }));
  expect(health.status).toBe('failing');
});

it('dates a wait by the minute in which the first event that waits was received', () => {
  const waiting = event('a', { pending: 9, active: 2, oldestPendingAt: now - 3_600_000 }, { received: 3 });
  // 2 in the current minute, 1 in each of the ten before.
  const minutes = { received: [...Array.from({ length: 10 }, () => 1), 2], failed: [] };
  const { problems } = computeHealth(source([{ ...waiting, recent: { ...waiting.recent, minutes } }]));
  expect(problems).toMatchObject([{ kind: 'oldest-pending', since: (Math.floor(now / 60_000) - 4) * 60_000 }]);
});

it('lists at most 50 problems, the worst first', () => {
  const old = Array.from({ length: 60 }, (_, n) => event(`old ${n}`, { deadLetters: n + 1 }));
  const bad = event('bad', { deadLetters: 1 }, { completed: 1, failed: 1 });
  const worse = event('worse', { deadLetters: 1 }, { failed: 1 });
  const { status, problems, problemCount } = computeHealth(source([...old, bad, worse]));
  expect([status, problemCount, problems.length]).toEqual(['failing', 62, 50]);
  expect(problems.slice(0, 3).map(({ eventType }) => eventType)).toEqual(['worse', 'bad', 'old 59']);
});

it('ranks by the number of events: stuck queues and services without a process above a single failure', () => {
  const stuck = event('stuck', { pending: 3, oldestPendingAt: now - 300_000 });
  const single = event('single', { deadLetters: 1 }, { failed: 1 });
  const many = event('many', { deadLetters: 500 }, { completed: 9_500, failed: 500 });
  const few = event('few', { deadLetters: 9 }, { failed: 9 });
  const { problems } = computeHealth(source([single, few, stuck, many]));
  expect(problems.map(({ eventType }) => eventType)).toEqual(['many', 'few', 'stuck', 'single']);
});

it('lists the processes of each service that were lost in the last 15 minutes above other warnings', () => {
  const lost = [
    { service: 'mail', active: 0, lostAt: now - 1 },
    { service: 'shop', active: 2, lostAt: now - 899_999 },
    { service: 'shop', active: 3, lostAt: now - 899_999 },
    { service: 'mail', active: 1, lostAt: now - 900_000 },
  ].map((one) => ({ id: 'a', host: 'h', pid: 1, startedAt: 0, ...one }));
  const { status, problems } = computeHealth(source([event('a', { deadLetters: 9 })], { lost }));
  expect(status).toBe('degraded');
  const problem = { kind: 'lost-process', severity: 'warning' };
  expect(problems).toEqual([
    { ...problem, service: 'mail', count: 1, active: 0, lastAt: now - 1 },
    { ...problem, service: 'shop', count: 2, active: 5, lastAt: now - 899_999 },
    { kind: 'dead-letters', severity: 'warning', eventType: 'a', count: 9 },
  ]);
});

it('keeps the date of failures for the whole minute', () => {
  const [received, failed] = [
    [50, 50, 50, 50, 50],
    [0, 0, 0, 3, 3],
  ];
  const dated = (inMinute: { received: number; failed: number }): number | undefined => {
    const minutes = { received: [...received, inMinute.received], failed: [...failed, inMinute.failed] };
    const failing = event('a', { deadLetters: 1, received: 9_999 }, { failed: 6 });
    return computeHealth(source([{ ...failing, recent: { ...failing.recent, minutes } }])).problems[0]?.since;
  };
  const since = (Math.floor(now / 60_000) - 2) * 60_000;
  expect([dated({ received: 0, failed: 0 }), dated({ received: 90, failed: 0 })]).toEqual([since, since]);
});

it('dates failures by their minutes, and a service without a process by the end of its last one', () => {
  const failed = [0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 6, 0];
  const received = failed.map(() => 10);
  const failing = event('a', { deadLetters: 1 }, { failed: 1 });
  const { recent } = failing;
  const abandoned = {
    ...event('b', { pending: 1 }),
    services: [{ service: 'mail', processes: 0, metrics: { ...noMetrics, pending: 1, oldestPendingAt: 7 } }],
  };
  const { problems } = computeHealth(
    source([{ ...failing, recent: { ...recent, minutes: { received, failed } } }, abandoned], {
      releases: [{ service: 'mail', release: 'v1', startedAt: 1, endedAt: 99 }],
    }),
  );
  const minute = Math.floor(now / 60_000);
  expect(problems.map(({ kind, since }) => [kind, since])).toEqual([
    ['no-process', 99],
    ['failing', (minute - 4) * 60_000],
  ]);
});

it('does not date failures that were about as frequent before some quiet minutes', () => {
  const failed = [0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 4, 0, 0];
  const failing = event('a', { deadLetters: 1, received: 500 }, { failed: 1 });
  const recent = { ...failing.recent, minutes: { received: failed.map(() => 10), failed } };
  expect(computeHealth(source([{ ...failing, recent }])).problems[0]?.since).toBeUndefined();
});

it.each([
  ['failures that were as rare before', 10, 500, (ago: number) => ago % 6 === 0, undefined],
  ['few failures', 10, 500, (ago: number) => ago < 2, undefined],
  ['failures of the first events of a type', 0, 2, (ago: number) => ago === 3 || ago === 12, 12],
  ['failures of all events of a type, of which there were some before', 0, 3, (ago: number) => ago === 3, undefined],
  ['failures that were rare before', 10, 500, (ago: number) => ago < 8 || ago === 19, 7],
])('dates %s', (_, perMinute, total, failsAt, expected) => {
  const failed = Array.from({ length: 20 }, (__, n) => (failsAt(19 - n) ? 1 : 0));
  const received = failed.map((count) => count + perMinute);
  const failing = event('a', { deadLetters: 1, received: total }, { failed: 1 });
  const recent = { ...failing.recent, minutes: { received, failed } };
  const [problem] = computeHealth(source([{ ...failing, recent }])).problems;
  expect(problem?.since).toBe(expected === undefined ? undefined : (Math.floor(now / 60_000) - expected) * 60_000);
});

it('merges the failure of a parent with that of its child', () => {
  const failing = (name: string, at: number, requestId: string): HealthSource['workflows'][number] => {
    const { metrics, recent } = event(name, { deadLetters: 1 }, { failed: 1 });
    const lastFailure = { id: name, at, attempt: 1, requestId, name: 'Error', message: 'no' };
    return { name, steps: [], runs: [], metrics, recent, lastFailure };
  };
  const workflows = [
    failing('parent', 3, 'r'),
    failing('child', 2, 'r'),
    failing('root', 4, 'r'),
    failing('other', 1, 's'),
  ];
  const { problems, problemCount } = computeHealth(source([], { workflows }));
  expect(problemCount).toBe(2);
  expect(problems).toMatchObject([
    { workflow: 'child', kind: 'failing', parents: ['parent', 'root'] },
    { workflow: 'other', kind: 'failing' },
  ]);
});

it('reports a schedule that no process runs', () => {
  const schedule = { name: 'nightly', service: 's', processes: 0, catchUp: 'none' as const, lastDueAt: 5 };
  const { status, problems } = computeHealth(source([], { schedules: [schedule] }));
  expect(status).toBe('degraded');
  expect(problems).toEqual([
    { kind: 'overdue-schedule', severity: 'warning', schedule: 'nightly', service: 's', lastAt: 5 },
  ]);
});
