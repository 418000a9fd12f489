/**
 * Measures the dashboard's page under load with the browser's own profiler and counters: 5,000 event types, each of which
 * has changed at every poll. With `--minutes 30` it watches the heap for so long in place of that, while the page polls
 * and every type changes once a second.
 *
 * @module
 */
import { createServer } from 'node:http';
import { setInterval, setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright';
import { createDashboardHandler, createHub, type Hub } from '../dist/index.js';
import { findBrowser, launchOptions } from '../scripts/browser.js';
import { listenLocally } from '../scripts/listen-locally.js';

const types = 5_000;
/** The first few polls compile the page's code. */
const warmUps = 8;
const polls = 40;
const scrolls = 8;
const settleMs = 500;
const samplingUs = 500;

/** What one poll costs on the main thread, in milliseconds. */
interface Cost {
  /** From the profiler's samples: the browser's counter of script leaves out what runs in microtasks. */
  readonly script: number;
  readonly garbageCollection: number;
  readonly layout: number;
}

/** What is read of a profile. */
interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[];
  readonly samples?: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas?: readonly number[];
}

interface OpenPage {
  readonly page: Page;
  readonly session: CDPSession;
}

async function startHub(): Promise<Hub> {
  const hub = createHub({ service: 'bench' });
  for (let n = 0; n < types; n += 1) hub.event({ type: `service ${n % 50}.event ${n}`, handler: () => {} });
  await hub.start();
  return hub;
}

async function emitToAll(hub: Hub): Promise<void> {
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

async function readMetric(session: CDPSession, ...wanted: readonly string[]): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.reduce((sum, { name, value }) => sum + (wanted.includes(name) ? value : 0), 0);
}

/** Milliseconds since the page was opened. */
async function readLayout(session: CDPSession): Promise<number> {
  return (await readMetric(session, 'LayoutDuration', 'RecalcStyleDuration')) * 1_000;
}

/** Heap in use, garbage collected first, in MB. */
async function readHeap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await readMetric(session, 'JSHeapUsedSize')) / 2 ** 20;
}

/** Sums a profile up by what the main thread did. */
function profiled({ nodes, samples = [], timeDeltas = [] }: Profile): Pick<Cost, 'script' | 'garbageCollection'> {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  const cost = { script: 0, garbageCollection: 0 };
  for (const [index, id] of samples.entries()) {
    // A delta leads up to its sample: what is sampled lasts until the next one.
    const ms = (timeDeltas[index + 1] ?? 0) / 1_000;
    const name = names.get(id) ?? '';
    if (name === '(garbage collector)') cost.garbageCollection += ms;
    else if (!['(idle)', '(program)', '(root)'].includes(name)) cost.script += ms;
  }
  return cost;
}

async function measurePoll(hub: Hub, { page, session }: OpenPage): Promise<Cost> {
  await emitToAll(hub);
  const layoutBefore = await readLayout(session);
  await session.send('Profiler.start');
  const answer = page.waitForResponse(/introspection$/);
  // Not by the test runner, whose clicks run scripts of their own in the page.
  await session.send('Runtime.evaluate', { expression: `document.querySelector('[title="Refresh now"]').click()` });
  await (await answer).finished();
  await setTimeout(settleMs);
  const { profile } = await session.send('Profiler.stop');
  return { ...profiled(profile), layout: (await readLayout(session)) - layoutBefore };
}

async function measurePolls(hub: Hub, opened: OpenPage): Promise<readonly Cost[]> {
  await opened.session.send('Profiler.enable');
  await opened.session.send('Profiler.setSamplingInterval', { interval: samplingUs });
  const costs: Cost[] = [];
  for (let poll = 0; poll < warmUps + polls; poll += 1) costs.push(await measurePoll(hub, opened));
  return costs.slice(warmUps);
}

/** Milliseconds between frames while the table scrolls and is polled. */
async function measureScrolling(hub: Hub, { page, session }: OpenPage): Promise<readonly number[]> {
  await page.evaluate(`window.frames = []; (() => {
    let last = performance.now();
    const count = (now) => { frames.push(now - last); last = now; requestAnimationFrame(count); };
    requestAnimationFrame(count);
  })()`);
  for (let scroll = 0; scroll < scrolls; scroll += 1) {
    await emitToAll(hub);
    await session.send('Input.synthesizeScrollGesture', { x: 640, y: 600, yDistance: -6_000, speed: 6_000 });
  }
  return page.evaluate<number[]>('frames.slice(1)');
}

/** Prints the heap ten times over the minutes, which may be parts of one. */
async function watchHeap(hub: Hub, { session }: OpenPage, minutes: number): Promise<void> {
  console.log(`\nHeap of the page, in MB, over ${minutes} minutes`);
  const startedAt = performance.now();
  let readings = 0;
  for await (const _ of setInterval(1_000)) {
    await emitToAll(hub);
    const passed = (performance.now() - startedAt) / 60_000;
    if (passed < (readings / 10) * minutes) continue;
    console.log(`  after ${passed.toFixed(1).padStart(5)} min ${(await readHeap(session)).toFixed(1).padStart(8)}`);
    if (readings === 10) return;
    readings += 1;
  }
}

function print(name: string, values: readonly number[]): void {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  const figures = [0.5, 0.95, 1].map((part) => at(part).toFixed(1).padStart(8));
  console.log(`  ${name.padEnd(40)}${figures.join('')}`);
}

async function measure(browser: Browser, hub: Hub, url: string): Promise<void> {
  const costs = await measurePolls(hub, await open(browser, `${url}#/?every=off&sort=received`));
  console.log('\nMilliseconds                                median     p95     max');
  for (const part of ['script', 'garbageCollection', 'layout'] as const) {
    print(
      `${part} a poll`,
      costs.map((cost) => cost[part]),
    );
  }
  for (const [name, every] of [
    ['scrolling, not polling', 'off'],
    ['scrolling, polling', '1'],
  ] as const) {
    const opened = await open(browser, `${url}#/?every=${every}`);
    const frames = await measureScrolling(hub, opened);
    await opened.page.close();
    print(`between frames, ${name}`, frames);
    const average = frames.reduce((sum, ms) => sum + ms, 0) / frames.length;
    console.log(`  frames a second, ${name.padEnd(24)}${(1_000 / average).toFixed(1).padStart(8)}`);
  }
}

const { values } = parseArgs({ options: { minutes: { type: 'string' } } });
const minutes = Number(values.minutes ?? 0);
if (!Number.isFinite(minutes) || minutes < 0)
  throw new Error(`--minutes is ${values.minutes}, not a number of minutes`);
const hub = await startHub();
const server = createServer(createDashboardHandler(hub));
const url = `http://127.0.0.1:${await listenLocally(server)}/`;
const browser = await chromium.launch(launchOptions(findBrowser()));
console.log(`Chromium ${browser.version()}, ${types} event types, all of which change between polls`);
try {
  if (minutes === 0) await measure(browser, hub, url);
  else await watchHeap(hub, await open(browser, `${url}#/?every=1&sort=received`), minutes);
} finally {
  await browser.close();
}
process.exit(0);
