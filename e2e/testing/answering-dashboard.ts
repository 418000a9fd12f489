import type { ColumnsBody } from '../../server/dashboard/protocol.js';
import { eventColumns } from '../../server/dashboard/routes/event-columns.js';
import { type Answers, createAnswers } from '../../ui/testing/answers.js';
import type { Load } from '../../ui/testing/loads.js';
import type { DashboardSetup, Interceptor, RunningDashboard } from './start-dashboard.js';

const HOUR_MS = 3_600_000;

/** Time for which the failing types have failed. */
const BAD_MS = 8 * 60_000;

/** Time of the hub's clock at the start of a test. Its counts follow the time of the day, so a test sets it. */
const SERVED_AT = Date.UTC(2026, 0, 5, 12, 0, 30);

/** Starts a dashboard. */
type Serve = (setup?: DashboardSetup) => Promise<RunningDashboard>;

/** Dashboard whose JSON routes respond with the bodies of a hub in trouble that has run for nine days. */
export interface AnsweringDashboard {
  readonly dashboard: RunningDashboard;
  readonly answers: Answers;
  /** Returns the time of the hub's clock, in epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Serves the page with bodies that no test could make a hub count in time.
 *
 * @param loads event types @default those of a shop
 */
export async function serveAnswers(serve: Serve, loads?: readonly Load[]): Promise<AnsweringDashboard> {
  const dashboard = await serve();
  const aheadMs = SERVED_AT - Date.now();
  const now = (): number => Date.now() + aheadMs;
  const answers = createAnswers(SERVED_AT - 9 * 24 * HOUR_MS, SERVED_AT - BAD_MS, loads);
  dashboard.intercept = respondWith(answers, now);
  return { dashboard, answers, now };
}

/**
 * Returns an interceptor of the JSON routes that responds with these bodies.
 *
 * @param now clock of the hub, in epoch milliseconds
 */
export function respondWith(answers: Answers, now: () => number): Interceptor {
  return (req, res) => {
    const send = (body: object): true => {
      const headers = { 'content-type': 'application/json', date: new Date(now()).toUTCString() };
      res.writeHead(200, headers).end(JSON.stringify(body));
      return true;
    };
    const url = new URL(req.url ?? '/', 'http://localhost');
    if (url.pathname === '/api/introspection') {
      if (url.searchParams.has('request')) return send(answers.request(now()));
      const agent = url.searchParams.get('agent');
      if (agent !== null) return send(answers.agentRuns(agent, now()));
      const [from, to] = [url.searchParams.get('from'), url.searchParams.get('to')];
      if (from !== null) return send(answers.range(Number(from), Number(to)));
      const body = answers.introspection(now());
      return send({ ...body, events: eventColumns(body.events) } satisfies ColumnsBody);
    }
    const type = /^\/api\/events\/(.+)$/.exec(url.pathname)?.[1];
    return type !== undefined && send(answers.event(decodeURIComponent(type), now()));
  };
}
