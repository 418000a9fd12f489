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
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: { launchOptions: launchOptions(findBrowser()), screenshot: 'only-on-failure' },
  projects: [
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 } } },
    // Tests with this tag do not depend on the viewport.
    { name: 'narrow', grepInvert: /@any-width/, use: { viewport: { width: 320, height: 640 } } },
  ],
});
