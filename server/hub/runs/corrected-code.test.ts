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

  it.each([
    ['before the first step', 0, false],
    ['before the step that failed', 1, false],
    ['before the step that failed, recorded after a patch', 1, true],
  ])(
    'step.patched selects the corrected code in the replay of a run whose step failed: %s',
    async (_, steps, hasPatch) => {
      const transport = createTransport();
      const log: string[] = [];
      const pay = (): string => `paid ${log.push('pay')}`;
      const refuse = (): never => {
        throw new Error('wrong address');
      };
      const first = await deploy(transport, async ({ step }) => {
        if (steps === 1) await step.run('pay', pay);
        if (hasPatch) step.patched('earlier');
        await step.run('ship', refuse);
      });
      const { runId } = await first.startWorkflow('w', null);
      const status = (hub: Hub) => async () => (await hub.getRun('w', runId)).status;
      await vi.waitFor(async () => expect(await status(first)()).toBe('failed'), { interval: 5 });
      await first.stop();

      const corrected = await deploy(transport, async ({ step }) => {
        if (steps === 1) await step.run('pay', pay);
        if (step.patched('by ship')) return step.run('ship by sea', () => 'shipped');
        return step.run('ship', refuse);
      });
      await corrected.replay(runId);
      await vi.waitFor(async () => expect(await status(corrected)()).toBe('completed'), { interval: 5 });
      const { steps: recorded } = await corrected.getRun('w', runId);
      expect(recorded.map(({ name }) => name)).toContain('ship by sea');
      expect(log).toHaveLength(steps);
    },
  );

  it('step.patched returns false in a replay while other steps of the failed run are left', async () => {
    const transport = createTransport();
    const first = await deploy(transport, async ({ step }) => {
      const packing = step.run('pack', () => 'packed');
      await step.run('ship', () => {
        throw new Error('wrong address');
      });
      await packing;
    });
    const { runId } = await first.startWorkflow('w', null);
    const status = (hub: Hub) => async () => (await hub.getRun('w', runId)).status;
    await vi.waitFor(async () => expect(await status(first)()).toBe('failed'), { interval: 5 });
    await first.stop();
    const answers: boolean[] = [];
    const corrected = await deploy(transport, async ({ step }) => {
      answers.push(step.patched('at the start'));
      await step.run('pack', () => 'packed again');
      answers.push(step.patched('after the last recorded step'));
    });
    await corrected.replay(runId);
    await vi.waitFor(async () => expect(await status(corrected)()).toBe('completed'), { interval: 5 });
    expect(answers.slice(-2)).toEqual([false, true]);
  });
});
