import { test as base, expect } from 'playwright/test';
import { type DashboardSetup, type RunningDashboard, startDashboard } from './start-dashboard.js';
import { watchPage } from './watch-page.js';

interface Fixtures {
  /** Whether requests are made to fail in this test. */
  readonly expectsOutages: boolean;
  /** Starts a dashboard that lives as long as the test. */
  readonly serve: (setup?: DashboardSetup) => Promise<RunningDashboard>;
}

/** Playwright's `test` with a dashboard to open, and a page that must not do what it should not. */
export const test = base.extend<Fixtures>({
  expectsOutages: [false, { option: true }],
  // Playwright reads the parameter's pattern, and an empty one is no pattern to the linter.
  serve: async ({ browserName: _ }, use) => {
    const started: RunningDashboard[] = [];
    await use(async (setup = {}) => {
      const dashboard = await startDashboard(setup);
      started.push(dashboard);
      return dashboard;
    });
    await Promise.all(started.map((dashboard) => dashboard.kill()));
  },
  // Needs `serve`, so that the servers are still there when the page is judged.
  page: async ({ page, serve: _, expectsOutages }, use) => {
    const complaints = watchPage(page, expectsOutages);
    await use(page);
    expect(complaints).toEqual([]);
  },
});

export { expect };
