import type { ServerResponse } from 'node:http';
import type { ColumnsBody } from '../server/dashboard/protocol.js';
import { eventColumns } from '../server/dashboard/routes/event-columns.js';
import { type Answers, createAnswers } from '../ui/testing/answers.js';
import type { Load } from '../ui/testing/loads.js';
import type { DashboardSetup, Interceptor, RunningDashboard } from './start-dashboard.js';

const HOUR_MS = 3_600_000;

/** Time for which the failing types have failed. */
const BAD_MS = 8 * 60_000;

/** Starts a dashboard. */
type Serve = (setup?: DashboardSetup) => Promise<RunningDashboard>;

/** Dashboard whose JSON routes respond with the bodies of a hub in trouble that has run for nine days. */
export interface AnsweringDashboard {
  readonly dashboard: RunningDashboard;
  readonly answers: Answers;
}

/**
 * Serves the page with bodies that no test could make a hub count in time.
 *
 * @param loads event types @default those of a shop
 */
export async function serveAnswers(serve: Serve, loads?: readonly Load[]): Promise<AnsweringDashboard> {
  const dashboard = await serve();
  const now = Date.now();
  const answers = createAnswers(now - 9 * 24 * HOUR_MS, now - BAD_MS, loads);
  dashboard.intercept = respondWith(answers);
  return { dashboard, answers };
}

/** Returns an interceptor of the JSON routes that responds with these bodies. */
export function respondWith(answers: Answers): Interceptor {
  return (req, res) => {
    const url = new URL(req.url ?? '/', 'http://localhost');
    if (url.pathname === '/api/introspection') {
      if (url.searchParams.has('request')) return send(res, answers.request(Date.now()));
      const [from, to] = [url.searchParams.get('from'), url.searchParams.get('to')];
      if (from !== null) return send(res, answers.range(Number(from), Number(to)));
      const body = answers.introspection(Date.now());
      return send(res, { ...body, events: eventColumns(body.events) } satisfies ColumnsBody);
    }
    const type = /^\/api\/events\/(.+)$/.exec(url.pathname)?.[1];
    return type !== undefined && send(res, answers.event(decodeURIComponent(type), Date.now()));
  };
}

function send(res: ServerResponse, body: object): true {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return true;
}
