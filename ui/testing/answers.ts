import type {
  AgentRunsBody,
  Counts,
  ErrorGroup,
  EventBody,
  EventOverview,
  Histories,
  History,
  IntrospectionBody,
  PeriodCounts,
  Problem,
  RangeBody,
  RecentActivity,
  RequestBody,
} from '../../server/dashboard/protocol.js';
import { recentAnswer, requestAnswer } from './answer-request.js';
import { agentAnswer, agentRunsAnswer, workflowAnswer } from './answer-workflows.js';
import { LOADS, type Load } from './loads.js';

/** Bodies of a hub with a week of history, four failing types and other problems, as the handler would send them. */
export interface Answers {
  introspection(now: number): IntrospectionBody;
  event(type: string, now: number): EventBody;
  range(from: number, to: number): RangeBody;
  request(now: number): RequestBody;
  agentRuns(agent: string, now: number): AgentRunsBody;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Creates the bodies of a hub. All numbers derive from the time alone.
 *
 * @param startedAt time at which the hub started, in epoch milliseconds
 * @param badSince time since which types fail at their higher rate
 */
export function createAnswers(startedAt: number, badSince: number, loads: readonly Load[] = LOADS): Answers {
  const countIn = (load: Load, at: number): { received: number; failed: number } => {
    if (at < startedAt || load.perMinute === 0) return { received: 0, failed: 0 };
    const day =
      1 + 0.45 * Math.sin((at / DAY_MS) * 2 * Math.PI - 1.4) + 0.12 * Math.sin(at / 437_000 + load.type.length);
    const exact = load.perMinute * day;
    const noise = ((Math.floor(at / MINUTE_MS) * 7_919 + load.type.length * 104_729) % 97) / 97;
    const received = Math.floor(exact + noise);
    const share = load.failing?.[at >= badSince ? 0 : 1] ?? 0;
    return { received, failed: Math.min(received, Math.floor(received * share + (share > 0 ? noise : 0))) };
  };
  const minuteCounts = (load: Load, minute: number, now: number): { received: number; failed: number } => {
    const { received, failed } = countIn(load, minute);
    const part = Math.min(1, Math.max(0, (now - minute) / MINUTE_MS));
    return { received: Math.round(received * part), failed: Math.round(failed * part) };
  };
  const sum = (load: Load, from: number, to: number, now: number): PeriodCounts => {
    let [received, failed] = [0, 0];
    for (let minute = Math.floor(from / MINUTE_MS) * MINUTE_MS; minute < Math.min(to, now); minute += MINUTE_MS) {
      const counts = minuteCounts(load, minute, now);
      received += counts.received;
      failed += counts.failed;
    }
    return {
      received,
      completed: received - failed,
      failed,
      cancelled: 0,
      retried: Math.round((load.retried ?? 0) / 8),
    };
  };
  const all = shapesOf(loads);
  const totalIn = (shapes: Shapes, from: number, to: number, now: number): Total => {
    const total = { received: 0, completed: 0, failed: 0 };
    for (const [load, times] of shapes) {
      const counts = sum(load, from, to, now);
      total.received += counts.received * times;
      total.completed += counts.completed * times;
      total.failed += counts.failed * times;
    }
    return total;
  };
  // A page polls, and the past does not change.
  const past = new Map<string, Total>();
  const history = (shapes: Shapes, count: number, stepMs: number, now: number): History => {
    const startAt = Math.floor(now / stepMs) * stepMs - (count - 1) * stepMs;
    const steps = Array.from({ length: count }, (_, index) => startAt + index * stepMs);
    const name = shapes === all ? '' : shapes[0]?.[0].type;
    const totals = steps.map((at) => {
      if (at + stepMs > now) return totalIn(shapes, at, at + stepMs, now);
      const key = `${stepMs} ${at} ${name}`;
      const total = past.get(key) ?? totalIn(shapes, at, at + stepMs, now);
      past.set(key, total);
      return total;
    });
    return {
      startAt,
      stepMs,
      received: totals.map(({ received }) => received),
      completed: totals.map(({ completed }) => completed),
      failed: totals.map(({ failed }) => failed),
      waitP95Ms: totals.map(({ received }) => (received === 0 ? null : 12)),
      durationP95Ms: totals.map(({ received }) => (received === 0 ? null : 240)),
    };
  };
  const histories = (shapes: Shapes, now: number): Histories => ({
    minutes: history(shapes, 60, MINUTE_MS, now),
    fiveMinutes: history(shapes, 588, 5 * MINUTE_MS, now),
    hours: history(shapes, 168, 60 * MINUTE_MS, now),
  });
  const recent = (shapes: Shapes, now: number): RecentActivity => {
    const current = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const last = shapes.map(([load, times]) => ({ counts: sum(load, current - 5 * MINUTE_MS, now, now), times }));
    const minutes = Array.from({ length: 20 }, (_, index) => current - (19 - index) * MINUTE_MS).map((minute) =>
      shapes.map(([load, times]) => ({ counts: minuteCounts(load, minute, now), times })),
    );
    const total = (of: (counts: PeriodCounts) => number): number =>
      last.reduce((all, { counts, times }) => all + of(counts) * times, 0);
    return {
      last5Min: {
        received: total((counts) => counts.received),
        completed: total((counts) => counts.completed),
        failed: total((counts) => counts.failed),
        cancelled: 0,
        retried: total((counts) => counts.retried),
      },
      waitP95Ms: total((counts) => counts.received) === 0 ? null : 18,
      durationP95Ms: total((counts) => counts.received) === 0 ? null : 412,
      minutes: {
        received: minutes.map((each) => each.reduce((all, { counts, times }) => all + counts.received * times, 0)),
        failed: minutes.map((each) => each.reduce((all, { counts, times }) => all + counts.failed * times, 0)),
      },
    };
  };
  const metrics = (load: Load, now: number): Counts => {
    const week = sum(load, Math.max(startedAt, badSince - 60 * MINUTE_MS), now, now);
    const received = week.received * 1_000 + (load.pending ?? 0);
    const { failed } = week;
    return {
      received,
      completed: received - failed - (load.pending ?? 0),
      failed,
      pending: load.pending ?? 0,
      active: load.perMinute > 100 ? 2 : 0,
      delayed: 0,
      suspended: 0,
      retried: load.retried ?? 0,
      deduplicated: 0,
      filtered: 0,
      cancelled: 0,
      deadLetters: failed,
      ...(load.pending !== undefined && { oldestPendingAt: now - load.pending * 4_000 }),
      ...(received > 0 && { lastReceivedAt: now - 400 }),
      ...(failed > 0 && { lastFailedAt: now - 2_000 }),
    };
  };
  const event = (load: Load, now: number): EventOverview => {
    const counts = metrics(load, now);
    return {
      type: load.type,
      kind: load.kind ?? 'handler',
      metrics: counts,
      recent: recent([[load, 1]], now),
      ...(load.kind === 'agent' && {
        agent: { name: 'triage', model: 'small-1', tools: ['find_order'], delegates: [] },
      }),
      ...(load.message !== undefined && { lastFailure: { at: now - 2_000, name: 'Error', message: load.message } }),
    };
  };
  const problems = (events: readonly EventOverview[], now: number): Problem[] => {
    const failing = events.flatMap((each): Problem[] => {
      const { failed, completed } = each.recent.last5Min;
      if (failed === 0) return [];
      const { at, name = '', message = '' } = each.lastFailure ?? {};
      return [
        {
          kind: 'failing',
          severity: 'error',
          eventType: each.type,
          failed,
          ended: failed + completed,
          since: badSince,
          ...(at !== undefined && { lastAt: at }),
          lastError: { name, message },
        },
      ];
    });
    failing.sort((a, b) => (b.failed ?? 0) / (b.ended ?? 1) - (a.failed ?? 0) / (a.ended ?? 1));
    const waiting = events.filter(({ metrics: { pending } }) => pending > 100);
    const dead = events.filter(({ recent: { last5Min }, metrics }) => last5Min.failed === 0 && metrics.deadLetters > 0);
    return [
      ...failing,
      ...waiting.map(
        ({ type, metrics: { pending } }): Problem => ({
          kind: 'backlog',
          severity: 'warning',
          eventType: type,
          pending,
          since: now - 9 * MINUTE_MS,
        }),
      ),
      ...dead.map(
        ({ type, metrics: { deadLetters } }): Problem => ({
          kind: 'dead-letters',
          severity: 'warning',
          eventType: type,
          count: deadLetters,
          lastAt: now - 2_000,
        }),
      ),
    ];
  };
  return {
    request: requestAnswer,
    agentRuns: agentRunsAnswer,
    introspection(now) {
      const events = loads.map((load) => event(load, now));
      const found = problems(events, now);
      const total = (of: (counts: Counts) => number): number =>
        events.reduce((sumOf, each) => sumOf + of(each.metrics), 0);
      const oldest = Math.min(...events.map((each) => each.metrics.oldestPendingAt ?? now));
      return {
        protocol: 2,
        hub: { service: 'shop', transport: 'redis', version: '0.1.0', startedAt, now },
        health: {
          status: found.length === 0 ? 'ok' : 'failing',
          problems: found.slice(0, 50),
          problemCount: found.length,
        },
        totals: {
          metrics: {
            received: total((counts) => counts.received),
            completed: total((counts) => counts.completed),
            failed: total((counts) => counts.failed),
            pending: total((counts) => counts.pending),
            active: total((counts) => counts.active),
            delayed: 0,
            suspended: 0,
            retried: total((counts) => counts.retried),
            deduplicated: 0,
            filtered: 0,
            cancelled: 0,
            deadLetters: total((counts) => counts.deadLetters),
            ...(oldest < now && { oldestPendingAt: oldest }),
          },
          recent: recent(all, now),
          histories: histories(all, now),
        },
        events,
        workflows: [workflowAnswer(metrics({ type: 'fulfil', perMinute: 20, failing: [0.1, 0] }, now), now)],
        agents: [agentAnswer(now)],
      };
    },
    event(type, now) {
      const load = loads.find((each) => each.type === type) ?? { type, perMinute: 0 };
      const counts = metrics(load, now);
      const spread = { p50: 41, p95: 412, p99: 1_900, max: 3_004 };
      return {
        type,
        ...counts,
        settings: {
          retry: { maxAttempts: 4, initialDelayMs: 250, maxDelayMs: 30_000, factor: 2, jitter: true },
          timeoutMs: 3_000,
        },
        schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 1 } } },
        recent: recent([[load, 1]], now),
        waitMs: { last5Min: { p50: 2, p95: 18, p99: 44, max: 90 }, lastHour: { p50: 2, p95: 15, p99: 40, max: 400 } },
        durationMs: { last5Min: spread, lastHour: spread },
        histories: histories([[load, 1]], now),
        recentEvents: recentAnswer(type, now, 50),
        failedEvents: recentAnswer(type, now, 50).filter(({ status }) => status === 'failed'),
        recentFailures: [],
        errorGroups: errorGroups(load, counts.failed, now),
      };
    },
    range(from, to) {
      return {
        protocol: 2,
        from,
        to,
        stepMs: MINUTE_MS,
        events: loads.map((load) => ({ type: load.type, counts: sum(load, from, to, to) })),
      };
    },
  };
}

/** Returns the errors of a type that fails: its own, and a rare one. */
function errorGroups({ type, message }: Load, failed: number, now: number): readonly ErrorGroup[] {
  if (message === undefined) return [];
  const texts = [
    { name: 'FatalError', message: message.replace(/\d+/g, '#'), failures: failed - 2 },
    { name: 'TimeoutError', message: 'no response within # ms', failures: 2 },
  ];
  return texts.map((text, index) => ({
    ...text,
    id: `${type} ${index}`,
    eventType: type,
    attempts: text.failures,
    firstSeenAt: now - DAY_MS,
    lastSeenAt: now - 2_000 - index * 38_800,
    deadLetters: text.failures,
    history: [],
    newest: Array.from({ length: Math.min(10, text.failures) }, (_, n) => ({
      id: `4be0643f-1d98-473b-97cd-ca98a65347${index}${n}`,
      requestId: `request ${n}`,
      at: now - 2_000 - (index * 4 + n) * 9_700,
      attempt: 1,
    })),
  }));
}

type Total = Pick<PeriodCounts, 'received' | 'completed' | 'failed'>;

/** Loads, each with its number. */
type Shapes = readonly (readonly [load: Load, times: number])[];

/** Returns the loads with equal counts once, each with their number: counts of thousands of types are few. */
function shapesOf(loads: readonly Load[]): Shapes {
  const shapes = new Map<string, [Load, number]>();
  for (const load of loads) {
    const key = JSON.stringify({ ...load, type: load.type.length });
    const shape = shapes.get(key);
    if (shape === undefined) shapes.set(key, [load, 1]);
    else shape[1] += 1;
  }
  return [...shapes.values()];
}
