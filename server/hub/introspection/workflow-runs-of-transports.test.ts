import { expect, test, vi } from 'vitest';
import { FatalError, InvalidOptionError } from '../../errors.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import { createWorkflow } from '../runs/workflow.js';

interface Order {
  readonly id: number;
}

test.each(everyTransport)('%s has the steps of the runs of a function', async (_name, createTransport) => {
  const hub = createHub({ transport: createTransport() });
  hub.event({ type: 'paid', key: ({ id }: Order) => String(id) });
  const pay = createWorkflow({
    name: 'pay',
    run: async ({ input, step }) => {
      const { id } = input as Order;
      await step.run('ask', async () => {
        if (id === 3) throw new FatalError('no account');
      });
      await step.waitForEvent('paid', 'paid', { key: String(id) });
    },
  });
  hub.workflow(pay);
  await hub.start();
  for (const id of [0, 1, 2, 3]) await hub.startWorkflow(pay, { id });
  await vi.waitFor(async () =>
    expect(await hub.workflowRuns('pay')).toMatchObject({
      read: { newest: 4, failed: 1, waiting: 3 },
      steps: [
        { name: 'ask', stage: 0, reached: 4, waiting: 0, failed: 1, failureRatio: 0.25 },
        { name: 'paid', stage: 1, reached: 3, waiting: 3, failed: 0 },
      ],
    }),
  );
  const first = await hub.listRuns(pay, { limit: 3 });
  const second = await hub.listRuns('pay', { limit: 3, after: first.after ?? '' });
  const listed = [...first.runs, ...second.runs];
  expect([first.runs.length, second.runs.length, second.after]).toEqual([3, 1, undefined]);
  expect(listed.map(({ status }) => status).toSorted()).toEqual(['failed', 'suspended', 'suspended', 'suspended']);
  expect(listed.map(({ acceptedAt }) => acceptedAt)).toEqual(
    listed.map(({ acceptedAt }) => acceptedAt).toSorted((a, b) => b - a),
  );
  const suspended: string[] = [];
  let after: string | undefined;
  do {
    const page = await hub.listRuns('pay', { status: 'suspended', limit: 1, ...(after !== undefined && { after }) });
    expect(page.runs.length).toBeLessThanOrEqual(1);
    suspended.push(...page.runs.map(({ id }) => id));
    after = page.after;
  } while (after !== undefined);
  expect(suspended).toEqual(listed.filter(({ status }) => status === 'suspended').map(({ id }) => id));
  const [failed, ...others] = (await hub.listRuns('pay', { status: 'failed' })).runs;
  expect([failed?.isDeadLetter, failed?.steps.map(({ name }) => name), others]).toEqual([true, ['ask'], []]);
  const { acceptedAt: oldest = 0 } = listed.at(-1) ?? {};
  expect((await hub.listRuns('pay', { to: oldest })).runs).toEqual([]);
  expect((await hub.listRuns('pay', { from: oldest, status: ['waiting', 'suspended'] })).runs).toHaveLength(3);
  expect(await hub.listRuns('unknown')).toEqual({ runs: [] });
  for (const wrong of ['', '[]x', '[["a"]]', '[["default","other:1"]]', '[["default","runs:x"]]']) {
    await expect(hub.listRuns('pay', { after: wrong })).rejects.toThrow(InvalidOptionError);
  }
  await hub.stop({ drainMs: 0 });
});
