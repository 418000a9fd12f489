import { expect, test, vi } from 'vitest';
import { FatalError } from '../../errors.js';
import { type TestHub, testHub } from '../hub.fixture.js';
import { createWorkflow } from '../runs/workflow.js';
import type { RunListQuery } from './run-list.js';

/** Starts a hub with ended runs, accepted 5 at a time, of which those of some numbers failed. */
async function startRuns(count: number, failed: readonly number[]): Promise<TestHub> {
  const test = testHub();
  const { hub, clock } = test;
  const pay = createWorkflow({
    name: 'pay',
    retain: { completed: 2_000 },
    steps: [
      {
        name: 'ask',
        handler: ({ payload }) => {
          if (failed.includes(Number(payload))) throw new FatalError(String(payload));
        },
      },
    ],
  });
  hub.workflow(pay);
  await hub.start();
  for (let number = 0; number < count; number += 1) {
    await hub.startWorkflow(pay, number);
    if (number % 5 === 4) await clock.advance(1);
  }
  await clock.settle();
  return test;
}

/** Lists all runs in pages. Returns the ids of each page. */
async function listAll({ hub }: TestHub, query: RunListQuery): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const page = await hub.listRuns('pay', { ...query, ...(after !== undefined && { after }) });
    pages.push(page.runs.map(({ id }) => id));
    after = page.after;
  } while (after !== undefined);
  return pages;
}

test.each([
  { limit: 1, failed: [0] },
  { limit: 2, failed: [0, 299] },
  { limit: 200, failed: [150] },
])('reads few pages of a transport if few runs match: %o', async ({ limit, failed }) => {
  const test = await startRuns(300, failed);
  const read = vi.spyOn(test.hub.transport.lookup, 'runs');
  const { runs } = await test.hub.listRuns('pay', { status: 'failed', limit });
  expect(runs).toHaveLength(failed.length);
  expect(read.mock.calls.length).toBeLessThanOrEqual(6);
});

test('reads at most 1,000 runs per call', async () => {
  const test = await startRuns(1_005, [0]);
  const first = await test.hub.listRuns('pay', { status: 'failed', limit: 1 });
  expect(first).toEqual({ runs: [], after: expect.any(String) });
  expect((await test.hub.listRuns('pay', { status: 'failed', after: first.after ?? '' })).runs).toHaveLength(1);
});

test.each([1, 3, 7, 50, 200])('pages of %i have each run once, newest first, also of a filter', async (limit) => {
  const failed = Array.from({ length: 60 }, (_, index) => index * 2);
  const test = await startRuns(130, failed);
  const all = (await test.hub.listRuns('pay', { limit: 200 })).runs;
  expect(all).toHaveLength(130);
  const byAcceptance = all.toSorted((a, b) => b.acceptedAt - a.acceptedAt || (a.id < b.id ? -1 : 1));
  for (const status of [undefined, 'failed', 'completed'] as const) {
    const wanted = byAcceptance.filter((run) => status === undefined || run.status === status).map(({ id }) => id);
    const pages = await listAll(test, { limit, ...(status !== undefined && { status }) });
    expect(pages.flat()).toEqual(wanted);
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
  }
});
