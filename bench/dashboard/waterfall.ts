import { createServer } from 'node:http';
import { chromium } from 'playwright';
import { createDashboardHandler, createHub, memoryTransport } from '../../dist/index.js';
import { findBrowser, launchOptions } from '../../scripts/browser/browser.js';
import { listenLocally } from '../../scripts/listen-locally.js';
import { built } from '../../scripts/page/built-classes.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { profiled, samplingUs } from './page-polls.js';

const requestId = 'large request';
const bars = 1_000;
/** Levels of its tree. */
const depth = 20;
/** The first ones compile the page's code. */
const warmUps = 3;
const draws = 15;

/** Measures the script that draws the waterfall of a request with 1,000 events, from the click to the drawn rows. */
export async function waterfall(): Promise<Row[]> {
  const hub = createHub({ service: 'bench', transport: memoryTransport() });
  let handled = 0;
  for (let n = 0; n < depth; n += 1) {
    hub.event({
      type: `stage ${n}`,
      handler: async ({ emit }) => {
        if (n + 1 < depth) await emit(`stage ${n + 1}`, null);
        handled += 1;
      },
    });
  }
  await hub.start();
  // A hub lists the newest 50 events of each type.
  for (let root = 0; root < bars / depth; root += 1) await hub.emit('stage 0', null, { requestId });
  while (handled < bars) await new Promise((resolve) => setTimeout(resolve, 20));
  const server = createServer(createDashboardHandler(hub));
  const url = `http://127.0.0.1:${await listenLocally(server)}/`;
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const session = await page.context().newCDPSession(page);
    await page.goto(`${url}#/?every=off`);
    await page.getByRole('searchbox').waitFor();
    await session.send('Profiler.enable');
    await session.send('Profiler.setSamplingInterval', { interval: samplingUs });
    const open = (hash: string) =>
      session.send('Runtime.evaluate', { expression: `location.hash = ${JSON.stringify(hash)}` });
    const scripts: number[] = [];
    for (let draw = 0; draw < warmUps + draws; draw += 1) {
      await session.send('Profiler.start');
      await open(`#/requests/${encodeURIComponent(requestId)}?every=off`);
      await page
        .locator(`[aria-rowcount="${bars + 1}"] ${built('.trace-row')}`)
        .first()
        .waitFor();
      const { profile } = await session.send('Profiler.stop');
      scripts.push(profiled(profile).script);
      await open('#/?every=off');
      await page.getByRole('searchbox').waitFor();
    }
    return [
      {
        scenario: `a waterfall of ${bars.toLocaleString('en')} bars: script on the page`,
        unit: 'ms',
        hubline: median(scripts.slice(warmUps)),
        target: { of: 'figure', limit: 'at most', value: 50 },
      },
    ];
  } finally {
    await browser.close();
    server.close();
    await hub.stop();
  }
}
