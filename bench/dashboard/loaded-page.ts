import { createServer } from 'node:http';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright';
import {
  createAgent,
  createDashboardHandler,
  createHub,
  createWorkflow,
  FatalError,
  type Hub,
  memoryTransport,
} from '../../dist/index.js';
import { createFakeClock, type FakeClock, scriptedProvider } from '../../dist/testing/index.js';
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
  /** Emits an event of every type, and starts a run of every kind. */
  change(): Promise<void>;
  /** Opens the dashboard at a route such as `#/?every=off`. */
  open(route: string): Promise<OpenPage>;
}

/**
 * Calls `look` with a hub of many types and a browser, and stops both afterwards.
 *
 * @param count number of event types
 */
export async function withLoadedPage<T>(look: (scene: Scene) => Promise<T>, count: number = types): Promise<T> {
  const clock = createFakeClock(Date.now() - historyMinutes * 60_000);
  const hub = createHub({ service: 'bench', logger: false, transport: memoryTransport({ clock }) });
  for (let n = 0; n < count; n += 1) hub.event({ type: typeOf(n), handler: () => {} });
  registerViews(hub);
  await hub.start();
  for (let minute = 0; minute < historyMinutes; minute += 1) {
    await emitToAll(hub, count);
    await startRuns(hub);
    await clock.advance(60_000);
  }
  const server = createServer(createDashboardHandler(hub));
  const url = `http://127.0.0.1:${await listenLocally(server)}/`;
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    return await look({
      hub,
      clock,
      change: async () => {
        await emitToAll(hub, count);
        await startRuns(hub);
      },
      browserVersion: browser.version(),
      open: (route) => open(browser, url + route),
    });
  } finally {
    await browser.close();
    server.close();
    await hub.stop();
  }
}

function typeOf(n: number): string {
  return `service ${n % 50}.event ${n}`;
}

/** Emits one event of each type. */
export async function emitToAll(hub: Hub, count: number = types): Promise<void> {
  for (let n = 0; n < count; n += 1) await hub.emit(typeOf(n), null);
}

const steps = 20;

/** Registers what the other views show: a workflow of 20 steps, one that waits, failures, an agent, and schedules. */
function registerViews(hub: Hub): void {
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      run: async ({ step }) => {
        for (let n = 0; n < steps; n += 1) await step.run(`step ${n}`, () => n);
        await step.invoke('label', 'print', null);
      },
    }),
  );
  hub.workflow(createWorkflow({ name: 'print', run: async ({ step }) => step.sleep('dry', 86_400_000) }));
  hub.event<number>({
    type: 'refused',
    handler({ payload }) {
      throw new FatalError(`card ${payload} declined`);
    },
  });
  const agent = createAgent({
    name: 'clerk',
    systemPrompt: 'You answer.',
    model: { model: 'scripted' },
    provider: scriptedProvider(Array.from({ length: 10_000 }, () => 'done')),
  });
  hub.event({ type: 'asked', handler: agent.asHandler() });
  for (let n = 0; n < steps; n += 1) {
    hub.schedule({ name: `schedule ${n}`, cron: `${n} 3 * * *`, emit: typeOf(n), payload: null });
  }
}

async function startRuns(hub: Hub): Promise<void> {
  await hub.startWorkflow('fulfil', null);
  await hub.emit('refused', 1);
  await hub.emit('asked', 'a question');
}

async function open(browser: Browser, url: string): Promise<OpenPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const session = await page.context().newCDPSession(page);
  // Time in which the thread did not run, because other processes did, is no cost of the page.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto(url);
  await page.getByRole('heading', { name: 'bench' }).waitFor();
  return { page, session };
}

/** Returns the sum of the named performance counters of the browser. */
export async function readMetric(session: CDPSession, ...wanted: readonly string[]): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.reduce((sum, { name, value }) => sum + (wanted.includes(name) ? value : 0), 0);
}
