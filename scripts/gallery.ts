/**
 * Takes pictures of the dashboard's views and states at four widths and in three themes, for people to look at. They lie
 * in `.cache/gallery`. Arguments choose scenes whose names contain one of them.
 *
 * @module
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createDashboardHandler, createHub, type Hub } from 'hubline';
import { type Browser, chromium, type Page, type Request } from 'playwright';
import { findBrowser, launchOptions } from './browser.js';
import { startGalleryHub } from './gallery-hub.js';

const folder = fileURLToPath(new URL('../.cache/gallery/', import.meta.url));

const sizes = [
  { width: 320, height: 720 },
  { width: 768, height: 1024 },
  { width: 1280, height: 900 },
  { width: 2560, height: 1440 },
];

const themes = [
  { name: 'light', colorScheme: 'light', forcedColors: 'none' },
  { name: 'dark', colorScheme: 'dark', forcedColors: 'none' },
  { name: 'forced', colorScheme: 'dark', forcedColors: 'active' },
] as const;

/** Time passes by so much, and answers come in between. */
const stepMs = 250;

const pollMs = 5_000;

/** What the API does in place of answering, where it is not well. */
type Trouble = 'hangs' | 401 | 503 | null;

interface Stage {
  readonly page: Page;
  trouble: Trouble;
  /** Lets the page poll after so much of its time. */
  pass(ms: number): Promise<void>;
}

interface Scene {
  readonly name: string;
  readonly hash?: string;
  /** What is done once the page is there. */
  act?(stage: Stage): Promise<void>;
}

/** Of a hub in which something happens. */
const scenes: readonly Scene[] = [
  { name: 'events' },
  { name: 'panel', hash: '#/events/payment.requested' },
  { name: 'no-match', hash: '#/?q=nowhere' },
  { name: 'workflows', hash: '#/workflows' },
  { name: 'workflow', hash: '#/workflows/fulfil' },
  { name: 'agents', hash: '#/agents' },
  { name: 'grouped', hash: '#/?group=prefix&closed=payment' },
  { name: 'snapshot', act: ({ page }) => page.getByRole('button', { name: 'Snapshot' }).click() },
  { name: 'shortcuts', act: ({ page }) => page.keyboard.press('?') },
  {
    name: 'stale',
    act: async (stage) => {
      stage.trouble = 'hangs';
      await stage.page.clock.runFor(9_000);
    },
  },
  ...([401, 503] as const).map((status) => ({
    name: `lost-${status}`,
    act: async (stage: Stage) => {
      stage.trouble = status;
      await stage.pass(pollMs);
    },
  })),
];

/** Serves a hub; `trouble` is asked at every request of the API. */
async function serve(hub: Hub, trouble: () => Trouble): Promise<string> {
  const handler = createDashboardHandler(hub);
  const listener: RequestListener = (req, res) => {
    const isIntrospection = req.url === '/api/introspection';
    if (isIntrospection && trouble() === 'hangs') return;
    if (isIntrospection && typeof trouble() === 'number') res.writeHead(Number(trouble())).end();
    else handler(req, res);
  };
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('a TCP server that listens has a port');
  server.unref();
  return `http://127.0.0.1:${address.port}/`;
}

async function take(page: Page, scene: string, theme: string): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    const path = `${folder}${scene}-${size.width}-${theme}.png`;
    await page.screenshot({ path, animations: 'disabled', fullPage: size.width < 1_000 });
  }
}

async function takeScenes(browser: Browser, theme: (typeof themes)[number], chosen: readonly Scene[]): Promise<void> {
  const hub = await startGalleryHub();
  let trouble: Trouble = null;
  const url = await serve(hub, () => trouble);
  const context = await browser.newContext(theme);
  const page = await context.newPage();
  await page.clock.install();
  const unanswered = new Set<Request>();
  page.on('request', (request) => unanswered.add(request));
  page.on('requestfinished', (request) => unanswered.delete(request));
  page.on('requestfailed', (request) => unanswered.delete(request));
  // The page's clock stands while the server works, or the page would say that answers take long.
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await page.clock.runFor(stepMs);
      while (unanswered.size > 0) await page.waitForEvent('requestfinished');
    }
  };
  const stage: Stage = {
    page,
    pass,
    get trouble() {
      return trouble;
    },
    set trouble(next) {
      trouble = next;
    },
  };
  await page.goto(`${url}#/?every=5`);
  let n = 1;
  for (let poll = 0; poll < 40; poll += 1) {
    const events = 3 + Math.round(3 * Math.sin(poll / 4)) + (poll % 3);
    for (const last = n + events; n <= last; n += 1) await hub.emit('order.created', { n });
    if (poll % 9 === 0) await hub.emit('stock.low', {});
    if (poll % 4 === 0) await hub.emit('ticket.created', 'Where is my order?');
    await pass(pollMs);
  }
  for (const scene of chosen) {
    await page.evaluate(`location.hash = ${JSON.stringify(scene.hash ?? '#/')}`);
    await pass(pollMs);
    await scene.act?.(stage);
    await take(page, scene.name, theme.name);
    await page.keyboard.press('Escape');
    if (trouble !== null) {
      trouble = null;
      await page.getByRole('button', { name: 'Refresh now' }).click();
    }
  }
  await context.close();
  await hub.stop({ drainMs: 0 });
}

/** A page that has just been opened: without anything registered, and without an answer. */
async function takeBeginnings(
  browser: Browser,
  theme: (typeof themes)[number],
  name: string,
  trouble: Trouble,
): Promise<void> {
  const hub = createHub({ service: 'shop' });
  await hub.start();
  const context = await browser.newContext(theme);
  const page = await context.newPage();
  await page.goto(await serve(hub, () => trouble));
  await page.getByText(trouble === null ? 'No event types yet' : 'Connecting').waitFor();
  await take(page, name, theme.name);
  await context.close();
  await hub.stop();
}

async function main(wanted: readonly string[]): Promise<void> {
  const isWanted = (name: string): boolean => wanted.length === 0 || wanted.some((word) => name.includes(word));
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    for (const theme of themes) {
      const chosen = scenes.filter(({ name }) => isWanted(name));
      if (chosen.length > 0) await takeScenes(browser, theme, chosen);
      if (isWanted('empty')) await takeBeginnings(browser, theme, 'empty', null);
      if (isWanted('loading')) await takeBeginnings(browser, theme, 'loading', 'hangs');
    }
  } finally {
    await browser.close();
  }
  console.log(`pictures: ${folder}`);
}

main(process.argv.slice(2)).then(
  () => process.exit(),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
