/**
 * Takes screenshots of the dashboard's views and states at five widths and in three themes, for visual review, and writes
 * them to `.cache/gallery`. With arguments, only scenes whose names contain one of them. `--width 1920` and `--theme dark`,
 * each any number of times, take only these.
 *
 * @module
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createDashboardHandler, createHub, type Hub } from 'hubline';
import { type Browser, chromium, type Page, type Request } from 'playwright';
import { respondWith } from '../../e2e/testing/answering-dashboard.js';
import type { Interceptor } from '../../e2e/testing/start-dashboard.js';
import { createAnswers } from '../../ui/testing/answers.js';
import { EXTREMES, type Load, THOUSANDS } from '../../ui/testing/loads.js';
import { findBrowser, launchOptions } from '../browser/browser.js';
import { built } from '../page/built-classes.js';
import { startGalleryHub } from './gallery-hub.js';
import { type OperatedShop, startOperatedShop } from './operated-hub.js';

const folder = fileURLToPath(new URL('../../.cache/gallery/', import.meta.url));

const { values: only, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { width: { type: 'string', multiple: true }, theme: { type: 'string', multiple: true } },
});

const sizes = [
  { width: 320, height: 700 },
  { width: 768, height: 1024 },
  { width: 1280, height: 900 },
  { width: 1920, height: 1080 },
  { width: 2560, height: 1440 },
].filter(({ width }) => only.width?.includes(String(width)) ?? true);

const themes = (
  [
    { name: 'light', colorScheme: 'light', forcedColors: 'none' },
    { name: 'dark', colorScheme: 'dark', forcedColors: 'none' },
    { name: 'forced', colorScheme: 'dark', forcedColors: 'active' },
  ] as const
).filter(({ name }) => only.theme?.includes(name) ?? true);

/** Step by which the page's clock advances. */
const stepMs = 250;

const pollMs = 5_000;
const settleMs = 200;

/** Failure of the introspection route. */
type Outage = 'hangs' | 401 | 503 | null;

interface Stage {
  readonly page: Page;
  outage: Outage;
  /** Advances the page's clock and waits for its requests. */
  pass(ms: number): Promise<void>;
}

interface Scene {
  readonly name: string;
  readonly hash?: string;
  /** Actions after the page has loaded. */
  act?(stage: Stage): Promise<void>;
}

/** Scenes on a busy hub. */
const scenes: readonly Scene[] = [
  { name: 'events' },
  { name: 'panel', hash: '#/events/payment.requested' },
  { name: 'no-match', hash: '#/?q=nowhere' },
  { name: 'workflows', hash: '#/workflows' },
  { name: 'workflow', hash: '#/workflows/fulfil' },
  { name: 'agents', hash: '#/agents' },
  { name: 'agent-runs', hash: '#/agents/clerk' },
  { name: 'waits', hash: '#/waits' },
  {
    name: 'processes',
    hash: '#/processes',
    act: ({ page }) => page.locator(built('.processes-table summary')).first().click(),
  },
  { name: 'schedules', hash: '#/schedules' },
  { name: 'grouped', hash: '#/?group=prefix&closed=payment' },
  {
    name: 'snapshot',
    act: async ({ page }) => {
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('banner').getByRole('button', { name: 'Snapshot' }).click();
    },
  },
  { name: 'shortcuts', act: ({ page }) => page.keyboard.press('?') },
  {
    name: 'stale',
    act: async (stage) => {
      stage.outage = 'hangs';
      await stage.page.clock.runFor(9_000);
    },
  },
  ...([401, 503] as const).map((status) => ({
    name: `lost-${status}`,
    act: async (stage: Stage) => {
      stage.outage = status;
      await stage.pass(pollMs);
    },
  })),
];

/** Serves a hub. `outage` is called for every request of the introspection route. */
async function serve(hub: Hub, outage: () => Outage, intercept: Interceptor = () => false): Promise<string> {
  const handler = createDashboardHandler(hub, { allowedHosts: ['127.0.0.1', 'localhost'] });
  const listener: RequestListener = (req, res) => {
    const isIntrospection = req.url?.startsWith('/api/introspection') === true;
    if (isIntrospection && outage() === 'hangs') return;
    if (isIntrospection && typeof outage() === 'number') res.writeHead(Number(outage())).end();
    else if (!intercept(req, res)) handler(req, res);
  };
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no TCP port');
  server.unref();
  return `http://127.0.0.1:${address.port}/`;
}

/** Takes a scene at every size. @param settle waits until the page has drawn a new size */
async function take(page: Page, scene: string, theme: string, settle: () => Promise<void>): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    await settle();
    const path = `${folder}${scene}-${size.width}-${theme}.png`;
    await page.screenshot({ path, animations: 'disabled', fullPage: size.width < 1_000 });
  }
}

async function takeScenes(browser: Browser, theme: (typeof themes)[number], chosen: readonly Scene[]): Promise<void> {
  const hub = await startGalleryHub();
  let outage: Outage = null;
  const url = await serve(hub, () => outage);
  const context = await browser.newContext(theme);
  const page = await context.newPage();
  await page.clock.install();
  const pending = new Set<Request>();
  page.on('request', (request) => pending.add(request));
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  // The page's clock stands still during requests. Otherwise the page would report slow responses.
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await page.clock.runFor(stepMs);
      while (pending.size > 0) await page.waitForEvent('requestfinished');
    }
  };
  const stage: Stage = {
    page,
    pass,
    get outage() {
      return outage;
    },
    set outage(next) {
      outage = next;
    },
  };
  await page.goto(`${url}#/?every=5`);
  let n = 1;
  for (let poll = 0; poll < 40; poll += 1) {
    const events = 3 + Math.round(3 * Math.sin(poll / 4)) + (poll % 3);
    for (const last = n + events; n <= last; n += 1) await hub.emit('order.created', { n });
    if (poll % 9 === 0) await hub.emit('stock.low', {});
    if (poll % 4 === 0) await hub.emit('ticket.created', 'Where is my order?');
    if (poll % 13 === 0) await hub.emit('refund.asked', 'My order arrived broken.');
    if (poll % 13 === 0) await hub.startWorkflow('deliver', { n: poll });
    await pass(pollMs);
  }
  for (const scene of chosen) {
    await page.evaluate(`location.hash = ${JSON.stringify(scene.hash ?? '#/')}`);
    await pass(pollMs);
    await scene.act?.(stage);
    await take(page, scene.name, theme.name, () => page.clock.runFor(settleMs));
    await page.keyboard.press('Escape');
    if (outage !== null) {
      outage = null;
      await page.keyboard.press('r');
    }
  }
  await context.close();
  await hub.stop({ drainMs: 0 });
}

/** Scenes with bodies that a hub could only count in a week. */
const countedScenes: readonly (Pick<Scene, 'name' | 'hash'> & { readonly loads?: readonly Load[] })[] = [
  { name: 'trouble' },
  { name: 'trouble-panel', hash: '#/events/payment.requested' },
  { name: 'trouble-workflows', hash: '#/workflows' },
  { name: 'trouble-agents', hash: '#/agents' },
  { name: 'trouble-request', hash: '#/requests/8a1c99e2-0b4d-4f7e-9a64-0c2f5b9d1e01' },
  { name: 'week', hash: '#/?range=7d' },
  {
    name: 'thousands',
    hash: '#/?every=off&group=prefix',
    loads: THOUSANDS,
  },
  { name: 'extremes', hash: '#/?every=off', loads: EXTREMES },
  {
    name: 'extremes-panel',
    hash: `#/events/${encodeURIComponent(EXTREMES[0]?.type ?? '')}?every=off`,
    loads: EXTREMES,
  },
];

/** Takes the scenes with counted bodies. */
async function takeCounted(
  browser: Browser,
  theme: (typeof themes)[number],
  chosen: typeof countedScenes,
): Promise<void> {
  const hub = createHub({ service: 'shop', logger: false });
  await hub.start();
  for (const { name, hash = '', loads } of chosen) {
    const now = Date.now();
    const url = await serve(
      hub,
      () => null,
      respondWith(createAnswers(now - 9 * 86_400_000, now - 480_000, loads), Date.now),
    );
    const context = await browser.newContext(theme);
    const page = await context.newPage();
    await page.goto(url + hash);
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    await page.waitForLoadState('networkidle');
    await take(page, name, theme.name, () => page.waitForTimeout(settleMs));
    await context.close();
  }
  await hub.stop();
}

/** Scenes of two services, where something is stuck, fails, waits and is paused, with a user who may do everything. */
const operatedScenes: readonly (Pick<Scene, 'name'> & {
  hash(ids: OperatedShop['ids']): string;
  act?(page: Page): Promise<void>;
})[] = [
  { name: 'operated', hash: () => '#/' },
  { name: 'operated-stuck', hash: () => '#/events/report.requested' },
  { name: 'operated-panel', hash: () => '#/events/payment.requested' },
  { name: 'operated-agents', hash: () => '#/agents' },
  { name: 'operated-waits', hash: () => '#/waits' },
  { name: 'operated-workflows', hash: () => '#/workflows' },
  { name: 'operated-flow', hash: () => '#/flow' },
  {
    name: 'operated-errors',
    hash: () => '#/errors',
    act: (page) => page.getByRole('rowheader').getByRole('button').first().click(),
  },
  { name: 'operated-runs', hash: () => '#/workflows/fulfil' },
  { name: 'operated-nested', hash: ({ nested }) => `#/requests/${nested}` },
  { name: 'operated-400-steps', hash: ({ long }) => `#/requests/${long}` },
  { name: 'operated-30-turns', hash: ({ turns }) => `#/requests/${turns}` },
  { name: 'operated-schedules', hash: () => '#/schedules' },
  { name: 'operated-processes', hash: () => '#/processes' },
  { name: 'operated-audit', hash: () => '#/audit' },
  { name: 'operated-palette', hash: () => '#/', act: (page) => page.keyboard.press('Control+K') },
  {
    name: 'operated-approve',
    hash: () => '#/waits',
    act: (page) => page.getByRole('button', { name: 'Decide' }).first().click(),
  },
  {
    name: 'operated-dialog',
    hash: () => '#/events/payment.requested',
    act: (page) => page.getByRole('button', { name: /^Replay \d+ dead letter/ }).click(),
  },
];

async function takeOperated(
  browser: Browser,
  theme: (typeof themes)[number],
  shop: OperatedShop,
  chosen: typeof operatedScenes,
): Promise<void> {
  const server = createServer(shop.handler);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  for (const { name, hash, act } of chosen) {
    // A view may begin otherwise on a phone.
    const context = await browser.newContext({ ...theme, viewport: sizes[0] ?? null });
    const page = await context.newPage();
    await page.goto(url + hash(shop.ids));
    await page.getByRole('banner').getByText('Live').waitFor();
    await page.waitForLoadState('networkidle');
    await act?.(page);
    await take(page, name, theme.name, () => page.waitForTimeout(settleMs));
    await context.close();
  }
  server.closeAllConnections();
  server.close();
}

/** Takes the scenes of a page that has just been opened: an empty hub, one without events and a pending first response. */
async function takeFirstLoad(
  browser: Browser,
  theme: (typeof themes)[number],
  name: string,
  outage: Outage,
): Promise<void> {
  const hub = createHub({ service: 'shop', logger: false });
  if (name === 'unused') hub.event({ type: 'order.created', handler: () => {} });
  await hub.start();
  const context = await browser.newContext(theme);
  const page = await context.newPage();
  await page.goto(await serve(hub, () => outage));
  await page
    .getByText(outage === null ? 'yet' : 'Connecting')
    .first()
    .waitFor();
  await take(page, name, theme.name, () => page.waitForTimeout(settleMs));
  await context.close();
  await hub.stop();
}

async function main(): Promise<void> {
  const isWanted = (name: string): boolean => wanted.length === 0 || wanted.some((word) => name.includes(word));
  mkdirSync(folder, { recursive: true });
  const operated = operatedScenes.filter(({ name }) => isWanted(name));
  const shop = operated.length > 0 ? await startOperatedShop() : null;
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    for (const theme of themes) {
      const chosen = scenes.filter(({ name }) => isWanted(name));
      if (chosen.length > 0) await takeScenes(browser, theme, chosen);
      await takeCounted(
        browser,
        theme,
        countedScenes.filter(({ name }) => isWanted(name)),
      );
      if (shop !== null) await takeOperated(browser, theme, shop, operated);
      if (isWanted('empty')) await takeFirstLoad(browser, theme, 'empty', null);
      if (isWanted('unused')) await takeFirstLoad(browser, theme, 'unused', null);
      if (isWanted('loading')) await takeFirstLoad(browser, theme, 'loading', 'hangs');
    }
  } finally {
    await shop?.stop();
    await browser.close();
  }
  console.log(`screenshots: ${folder}`);
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
