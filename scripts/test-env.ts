/**
 * Makes sure of what the tests need and `npm install` does not bring: a browser and a Redis server.
 *
 * @module
 */
import { chromium } from 'playwright';
import { launchOptions, recallBrowser, rememberBrowser } from './browser.js';
import { browserSources } from './browser-sources.js';
import { ensureBrowser } from './ensure-browser.js';
import { ensureRedisServer } from './redis-server.js';

const launchTimeoutMs = 30_000;

async function launch(executablePath: string): Promise<void> {
  const browser = await chromium.launch({ ...launchOptions(executablePath), timeout: launchTimeoutMs });
  try {
    // Some start and cannot show a page: one without its shared memory, say.
    await (await browser.newPage()).setContent('<p>ready</p>');
  } finally {
    await browser.close();
  }
}

async function main(env: NodeJS.ProcessEnv): Promise<void> {
  ensureRedisServer();
  const { CHROME_PATH: wanted } = env;
  const known = recallBrowser();
  if (known !== undefined && (!wanted || wanted === known)) return;
  const executablePath = await ensureBrowser({ sources: browserSources(env), launch, log: console.log });
  rememberBrowser(executablePath);
  console.log(`browser for the tests: ${executablePath}`);
}

main(process.env).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
