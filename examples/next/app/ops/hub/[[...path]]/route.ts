import { basicAuth, createDashboardFetch, type DashboardFetch } from 'hubline';
import { getHub } from '../../../../hub';

// Next must not answer with a response that it made at the build.
export const dynamic = 'force-dynamic';

let dashboard: DashboardFetch | undefined;

// Created with the first request: Next also runs this file at the build, which has no password.
export function GET(request: Request): Promise<Response> {
  const { DASHBOARD_PASSWORD: password = '' } = process.env;
  dashboard ??= createDashboardFetch(getHub(), { basePath: '/ops/hub', ...basicAuth({ user: 'admin', password }) });
  return dashboard(request);
}
