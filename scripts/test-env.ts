/**
 * Provides what the tests need: a browser, a Redis server, a Postgres server and PgBouncer. Installs a missing one, unless
 * `HUBLINE_NO_INSTALL=1` is set: then it prints instructions and exits with 1.
 *
 * @module
 */
import { chromium } from 'playwright';
import { launchOptions, recallBrowser, rememberBrowser } from './browser/browser.js';
import { browserSources } from './browser/browser-sources.js';
import { ensureBrowser } from './browser/ensure-browser.js';
import { mayInstall } from './may-install.js';
import { ensurePgBouncer } from './pgbouncer.js';
import { ensurePostgres } from './postgres-server.js';
import { ensureRedisServer } from './redis-server.js';

// The first start after an installation reads the whole browser from the disk.
const launchTimeoutMs = 120_000;

async function launch(executablePath: string): Promise<void> {
  const browser = await chromium.launch({ ...launchOptions(executablePath), timeout: launchTimeoutMs });
  try {
    // Some browsers start but cannot show a page, for example without shared memory.
    await (await browser.newPage()).setContent('<p>ready</p>');
  } finally {
    await browser.close();
  }
}

async function provideBrowser(env: NodeJS.ProcessEnv): Promise<void> {
  const { CHROME_PATH: wanted } = env;
  const known = recallBrowser();
  if (known !== undefined && (!wanted || wanted === known)) return;
  const executablePath = await ensureBrowser({
    sources: browserSources(env),
    launch,
    log: console.log,
    mayInstall: mayInstall(env),
  });
  rememberBrowser(executablePath);
  console.log(`Browser for the tests: ${executablePath}`);
}

// All are attempted, so that one run reports everything that is missing.
for (const provide of [ensureRedisServer, ensurePostgres, ensurePgBouncer, provideBrowser]) {
  try {
    await provide(process.env);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
