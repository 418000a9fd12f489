import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import type { Hub } from '../hub.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

describe.each(everyTransport)('on the %s transport', (_name, createTransport) => {
  async function deploy(transport: Transport, run: (ctx: RunCtx) => unknown): Promise<Hub> {
    const hub = createHub({ transport });
    hub.event({ type: 'go' });
    hub.workflow(createWorkflow({ name: 'w', run }));
    await hub.start();
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  it('a replay resumes a run that failed with WorkflowVersionError under corrected code, and keeps its record', async () => {
    const transport = createTransport();
    const log: string[] = [];
    const pay = (): string => `paid ${log.push('pay')}`;
    const ship = (): string => `shipped ${log.push('ship')}`;
    const first = await deploy(transport, async ({ step }) => {
      await step.run('pay', pay);
      await step.waitForEvent('go', 'go');
      await step.run('ship', ship);
    });
    const { runId } = await first.startWorkflow('w', null);
    const status = (hub: Hub) => async () => (await hub.getRun('w', runId)).status;
    await vi.waitFor(async () => expect(await status(first)()).toBe('suspended'), { interval: 5 });
    await first.stop();

    // The change moves the payment behind the wait, without step.patched.
    const wrong = await deploy(transport, async ({ step }) => {
      await step.waitForEvent('go', 'go');
      await step.run('pay', pay);
      await step.run('ship', ship);
    });
    await wrong.emit('go', null);
    await vi.waitFor(async () => expect(await status(wrong)()).toBe('failed'), { interval: 5 });
    expect(await wrong.deadLetters('w')).toMatchObject([{ id: runId, name: 'WorkflowVersionError' }]);
    await wrong.stop();

    const corrected = await deploy(transport, async ({ step }) => {
      const paid = await step.run('pay', pay);
      await step.waitForEvent('go', 'go');
      const shipped = await step.run('ship', ship);
      const isChecked = step.patched('checked') && (await step.run('check', () => true));
      return { paid, shipped, isChecked };
    });
    await corrected.replay(runId);
    await vi.waitFor(async () => expect(await status(corrected)()).toBe('completed'), { interval: 5 });
    const { steps } = await corrected.getRun('w', runId, { outputs: true });
    expect(steps.map(({ kind, name, output }) => [kind, name, output])).toMatchObject([
      ['run', 'pay', 'paid 1'],
      ['event', 'go', null],
      ['run', 'ship', 'shipped 2'],
      ['run', 'check', true],
    ]);
    expect(log).toEqual(['pay', 'ship']);
  });
});
