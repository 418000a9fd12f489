import type { FakeClock } from 'hubline/testing';
import { expect, type Locator, type Page } from 'playwright/test';
import type { Interceptor } from './start-dashboard.js';

/** Time by which `runClockUntil` runs a clock at once. */
const STEP_MS = 500;

/**
 * Stops the clock of a page that was opened after `page.clock.install()`. What the page shows for some seconds stays until
 * the test has seen it, on a slow machine too.
 */
export async function stopClock(page: Page): Promise<void> {
  // A clock cannot stop in the past, however long the call takes.
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 60_000);
}

/** Runs a stopped clock in steps until an element is visible, and leaves it stopped. */
export async function runClockUntil(page: Page, element: Locator): Promise<void> {
  const step = async (): Promise<boolean> => {
    await page.clock.runFor(STEP_MS);
    return element.isVisible();
  };
  await expect.poll(step, { intervals: [50] }).toBe(true);
}

/** Returns an interceptor that sends the time of a hub's clock, which the page shows. */
export function sendTimeOf(clock: Pick<FakeClock, 'now'>): Interceptor {
  return (_, res) => {
    res.setHeader('Date', new Date(clock.now()).toUTCString());
    return false;
  };
}
