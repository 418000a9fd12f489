import { createServer } from 'node:http';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright';
import { createDashboardHandler, createHub, type Hub, memoryTransport } from '../../dist/index.js';
import { createFakeClock, type FakeClock } from '../../dist/testing/index.js';
import { findBrowser, launchOptions } from '../../scripts/browser/browser.js';
import { listenLocally } from '../../scripts/listen-locally.js';

/** Number of event types of the hub. */
export const types = 5_000;

/** Length of the trend of each type. */
const historyMinutes = 20;

/** Open page and its DevTools session. */
export interface OpenPage {
  readonly page: Page;
  readonly session: CDPSession;
}

/** Hub with many types, each of which was active in the last 20 minutes, and a browser. */
export interface Scene {
  readonly hub: Hub;
  /** Clock of the hub. */
  readonly clock: FakeClock;
  readonly browserVersion: string;
  /** Opens the dashboard at a route such as `#/?every=off`. */
  open(route: string): Promise<OpenPage>;
}

/** Calls `look` with a hub of many types and a browser, and stops both afterwards. */
export async function withLoadedPage<T>(look: (scene: Scene) => Promise<T>): Promise<T> {
  const clock = createFakeClock(Date.now() - historyMinutes * 60_000);
  const hub = createHub({ service: 'bench', transport: memoryTransport({ clock }) });
  for (let n = 0; n < types; n += 1) hub.event({ type: `service ${n % 50}.event ${n}`, handler: () => {} });
  await hub.start();
  for (let minute = 0; minute < historyMinutes; minute += 1) {
    await emitToAll(hub);
    await clock.advance(60_000);
  }
  const server = createServer(createDashboardHandler(hub));
  const url = `http://127.0.0.1:${await listenLocally(server)}/`;
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    return await look({ hub, clock, browserVersion: browser.version(), open: (route) => open(browser, url + route) });
  } finally {
    await browser.close();
    server.close();
    await hub.stop();
  }
}

/** Emits one event of each type. */
export async function emitToAll(hub: Hub): Promise<void> {
  for (let n = 0; n < types; n += 1) await hub.emit(`service ${n % 50}.event ${n}`, null);
}

async function open(browser: Browser, url: string): Promise<OpenPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await page.goto(url);
  await page.getByRole('button', { name: `All ${types.toLocaleString('en')}` }).waitFor();
  return { page, session };
}

/** Returns the sum of the named performance counters of the browser. */
export async function readMetric(session: CDPSession, ...wanted: readonly string[]): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.reduce((sum, { name, value }) => sum + (wanted.includes(name) ? value : 0), 0);
}
