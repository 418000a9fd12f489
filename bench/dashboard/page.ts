/**
 * Measures the dashboard's page under load with the browser's profiler and counters: 5,000 event types, all of which
 * change between polls. With `--views` it measures a poll of every view, with 63 and with 5,000 types. With
 * `--minutes 30` it records the heap for 30 minutes instead, while the page polls and every type changes once per second.
 *
 * @module
 */
import { setInterval } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { CDPSession } from 'playwright';
import { median } from '../measuring/measure.js';
import { emitToAll, type OpenPage, readMetric, type Scene, types, withLoadedPage } from './loaded-page.js';
import { measurePolls } from './page-polls.js';

const scrolls = 8;
/** Baseline: the frame rate that the machine can reach. */
const bareTable = 'a bare table';
const bareRow = '<tr><td>event<td>1<td>2<td>3';

/** Returns the heap in use after a garbage collection, in MB. */
async function readHeap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await readMetric(session, 'JSHeapUsedSize')) / 2 ** 20;
}

/** Measures the milliseconds between frames while the table scrolls and polls. */
async function measureScrolling({ hub, clock }: Scene, { page, session }: OpenPage): Promise<readonly number[]> {
  await page.evaluate(`window.frames = []; (() => {
    let last = performance.now();
    const count = (now) => { frames.push(now - last); last = now; requestAnimationFrame(count); };
    requestAnimationFrame(count);
  })()`);
  for (let scroll = 0; scroll < scrolls; scroll += 1) {
    await emitToAll(hub);
    await clock.advance(1_000);
    await session.send('Input.synthesizeScrollGesture', { x: 640, y: 600, yDistance: -6_000, speed: 6_000 });
  }
  return page.evaluate<number[]>('frames.slice(1)');
}

/** Routes of the views, and the numbers of event types with which they are measured. */
const views = ['', 'errors', 'flow', 'workflows', 'workflows/fulfil', 'agents', 'waits', 'schedules', 'processes'];
const hubSizes = [63, types];
const pollsPerView = 15;

/** Prints the cost of a poll in every view. */
async function measureViews(): Promise<void> {
  for (const count of hubSizes) {
    await withLoadedPage(async (scene) => {
      console.log(`\nMedian milliseconds per poll, ${count} types   script  main thread`);
      for (const view of views) {
        const opened = await scene.open(`#/${view}?every=off`);
        const costs = await measurePolls(scene, opened, pollsPerView);
        await opened.page.close();
        const script = median(costs.map((cost) => cost.script));
        const mainThread = median(costs.map((cost) => cost.mainThread));
        console.log(
          `  ${(view || 'events').padEnd(40)}${[script, mainThread].map((ms) => ms.toFixed(1).padStart(8)).join('')}`,
        );
      }
    }, count);
  }
}

/** Prints the heap ten times over the given minutes, which may be fractions. */
async function watchHeap({ hub, clock }: Scene, { session }: OpenPage, minutes: number): Promise<void> {
  console.log(`\nHeap of the page, in MB, over ${minutes} minutes`);
  const startedAt = performance.now();
  let readings = 0;
  for await (const _ of setInterval(1_000)) {
    await emitToAll(hub);
    await clock.advance(1_000);
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

async function measure(scene: Scene): Promise<void> {
  const { open } = scene;
  const costs = await measurePolls(scene, await open('#/?every=off&sort=received'));
  console.log('\nMilliseconds                                median     p95     max');
  for (const part of ['script', 'garbageCollection', 'layout'] as const) {
    print(
      `${part} per poll`,
      costs.map((cost) => cost[part]),
    );
  }
  for (const [name, every] of [
    [bareTable, 'off'],
    ['not polling', 'off'],
    ['polling', '1'],
  ] as const) {
    const opened = await open(`#/?every=${every}`);
    if (name === bareTable) {
      // The policy of the dashboard's page forbids markup from strings.
      await opened.page.goto('about:blank');
      await opened.page.setContent(`<table>${bareRow.repeat(types)}</table>`);
    }
    const frames = await measureScrolling(scene, opened);
    await opened.page.close();
    print(`between frames, scrolling, ${name}`, frames);
    const average = frames.reduce((sum, ms) => sum + ms, 0) / frames.length;
    console.log(`  frames per second, scrolling, ${name.padEnd(20)}${(1_000 / average).toFixed(1).padStart(8)}`);
  }
}

const { values } = parseArgs({ options: { minutes: { type: 'string' }, views: { type: 'boolean' } } });
const minutes = Number(values.minutes ?? 0);
if (!Number.isFinite(minutes) || minutes < 0)
  throw new Error(`--minutes is ${values.minutes}, not a number of minutes`);
if (values.views === true) await measureViews();
else
  await withLoadedPage(async (scene) => {
    console.log(`Chromium ${scene.browserVersion}, ${types} event types, all of which change between polls`);
    if (minutes === 0) await measure(scene);
    else await watchHeap(scene, await scene.open('#/?every=1&sort=received'), minutes);
  });
