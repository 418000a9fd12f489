import { test as base, expect } from 'playwright/test';
import { type DashboardSetup, type RunningDashboard, startDashboard } from './start-dashboard.js';
import { watchPage } from './watch-page.js';

interface Fixtures {
  /** True if the test makes requests fail. */
  readonly expectsOutages: boolean;
  /** Starts a dashboard for the duration of the test. */
  readonly serve: (setup?: DashboardSetup) => Promise<RunningDashboard>;
}

/** Playwright's `test` with a dashboard, and with a page that is watched for violations. */
export const test = base.extend<Fixtures>({
  expectsOutages: [false, { option: true }],
  // Playwright requires a destructuring pattern, and the linter forbids an empty one.
  serve: async ({ browserName: _ }, use) => {
    const started: RunningDashboard[] = [];
    await use(async (setup = {}) => {
      const dashboard = await startDashboard(setup);
      started.push(dashboard);
      return dashboard;
    });
    await Promise.all(started.map((dashboard) => dashboard.close()));
  },
  // Depends on `serve`, so that the servers still run when the page is checked.
  page: async ({ page, serve: _, expectsOutages }, use) => {
    const violations = watchPage(page, expectsOutages);
    await use(page);
    expect(violations).toEqual([]);
  },
});

export { expect };
