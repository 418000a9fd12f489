import { defineConfig } from 'playwright/test';
import { findBrowser, launchOptions } from './scripts/browser/browser.js';

/** Each test starts the hubs and servers that it needs. */
export default defineConfig({
  testDir: 'e2e',
  fullyParallel: true,
  forbidOnly: process.env['CI'] !== undefined,
  retries: 0,
  workers: 2,
  reporter: 'list',
  // These end what hangs. A machine with more to do than it can is slow, not wrong.
  timeout: 600_000,
  expect: { timeout: 60_000 },
  use: {
    launchOptions: launchOptions(findBrowser()),
    // Tests that are about another zone or language set it.
    timezoneId: 'UTC',
    locale: 'en-US',
    screenshot: 'only-on-failure',
  },
  projects: [
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 } } },
    // Tests with this tag do not depend on the viewport.
    { name: 'narrow', grepInvert: /@any-width/, use: { viewport: { width: 320, height: 640 } } },
  ],
});
