import { createServer } from 'node:http';
import { type Browser, chromium } from 'playwright';
import { createDashboardHandler, createHub, memoryTransport } from '../../dist/index.js';
import { createFakeClock } from '../../dist/testing/index.js';
import { findBrowser, launchOptions } from '../../scripts/browser/browser.js';
import { listenLocally } from '../../scripts/listen-locally.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const types = 20;
const historyMinutes = 60;
const loads = 15;
const windowMs = 400;

/** Measures the first sight of the page, opened without a cache in a browser that has opened it before. */
export async function pagePaint(): Promise<Row[]> {
  const clock = createFakeClock(Date.now() - historyMinutes * 60_000);
  const hub = createHub({ service: 'bench', transport: memoryTransport({ clock }) });
  for (let n = 0; n < types; n += 1) hub.event({ type: `service ${n % 5}.event ${n}`, handler: () => {} });
  await hub.start();
  for (let minute = 0; minute < historyMinutes; minute += 1) {
    for (let n = 0; n < types; n += 1) {
      for (let event = 0; event <= (n + minute) % 7; event += 1) await hub.emit(`service ${n % 5}.event ${n}`, null);
    }
    await clock.advance(60_000);
  }
  const server = createServer(createDashboardHandler(hub));
  const url = `http://127.0.0.1:${await listenLocally(server)}/`;
  const browser = await chromium.launch(launchOptions(findBrowser()));
  try {
    const paints: number[] = [];
    for (let load = 0; load <= loads; load += 1) {
      const paint = await largestPaint(browser, url);
      if (load > 0) paints.push(paint);
    }
    return [
      {
        scenario: `largest contentful paint of the page, ${types} types with an hour of history`,
        unit: 'ms',
        hubline: median(paints),
        target: { of: 'figure', limit: 'at most', value: 300 },
      },
    ];
  } finally {
    await browser.close();
    server.close();
    await hub.stop();
  }
}

/** Returns the milliseconds from the navigation to the largest contentful paint. */
async function largestPaint(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    // The browser still prepares its new window, which is no part of the page's load.
    await page.waitForTimeout(windowMs);
    await page.goto(url);
    await page.evaluate(rowsAreShown);
    return await page.evaluate<number>(lastLargestPaint);
  } finally {
    await context.close();
  }
}

/** A search by role would take time from the page. */
const rowsAreShown = `new Promise((resolve) => {
  const look = () => document.querySelector('.row') && (observer.disconnect(), resolve());
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
  look();
})`;

/** The browser reports a paint after its frame. */
const lastLargestPaint = `new Promise((resolve) => {
  requestAnimationFrame(() => setTimeout(() => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime))
      .observe({ type: 'largest-contentful-paint', buffered: true });
  }));
})`;
