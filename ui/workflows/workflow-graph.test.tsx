import { screen } from '@testing-library/preact';
import { afterEach, expect, test, vi } from 'vitest';
import type { ReachedStep } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { workflowOf } from '../testing/test-data.js';

afterEach(() => vi.restoreAllMocks());

test('a graph scrolls to the step that failed once, also if it comes later, and has a name while it scrolls', async () => {
  const width = vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(320);
  vi.spyOn(HTMLElement.prototype, 'offsetLeft', 'get').mockReturnValue(500);
  const resize: (() => void)[] = [];
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(measure: () => void) {
        resize.push(measure);
      }
      observe(): void {}
      disconnect(): void {}
    },
  );
  const api = createFakeApi([]);
  api.workflows = [workflowOf('fulfil', [])];
  const reached = (failed: number): readonly ReachedStep[] =>
    ['pick', 'pack', 'ship'].map((name, stage) => ({
      ...{ name, kind: 'agent', stage, reached: 1, times: 1, waiting: 0 },
      failed: name === 'ship' ? failed : 0,
    }));
  api.reached = { steps: reached(0) };
  const page = await openPage(api, '#/workflows/fulfil');
  const box = screen.getByRole('group', { name: 'Graph' });
  expect(box.tabIndex).toBe(0);
  expect(box.scrollLeft).toBe(0);
  api.reached = { steps: reached(1) };
  await page.poll();
  expect(box.scrollLeft).toBe(452);
  box.scrollLeft = 7;
  width.mockReturnValue(340);
  for (const measure of resize) measure();
  await page.poll();
  expect(box.scrollLeft).toBe(7);
  width.mockReturnValue(4_000);
  for (const measure of resize) measure();
  await page.poll();
  expect(screen.queryByRole('group', { name: 'Graph' })).toBeNull();
  vi.unstubAllGlobals();
});
