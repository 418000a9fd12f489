import { describe, expect, onTestFinished, test } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { createHub } from '../create-hub.js';
import { deferred } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { RunEvent } from './watch-run.js';
import { type AnyWorkflow, createWorkflow } from './workflow.js';

const codec = {
  encode: (text: string) => Buffer.from(text).toString('base64'),
  decode: (text: string) => Buffer.from(text, 'base64').toString(),
};

const transports = [...everyTransport, ['memory with a codec', () => memoryTransport({ codec })] as const];

const show = (event: RunEvent): string =>
  event.type === 'step' ? `${event.step.name} ${event.step.status}` : `end ${event.run.status}`;

describe.each(transports)('watching a run on the %s transport', (_, createTransport) => {
  /** Starts two hubs of one service, as two processes: `web` starts runs, and either runs them. */
  async function started(...workflows: AnyWorkflow[]): Promise<{ web: Hub; watcher: Hub }> {
    const transport = createTransport();
    const [web, watcher] = [createHub({ transport }), createHub({ transport })];
    for (const hub of [web, watcher]) {
      for (const workflow of workflows) hub.workflow(workflow);
      hub.event({ type: 'signal' });
      await hub.start();
      onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    }
    return { web, watcher };
  }

  test('yields each step as it is recorded, in every process, and ends with the run', async () => {
    const pick = deferred();
    const order = createWorkflow({
      name: 'order',
      run: async ({ step }) => {
        await step.run('pick', () => pick.promise);
        await step.waitForEvent('paid', 'signal');
        await step.run('ship', () => ({ secret: 'address' }));
        await step.run('ship', () => 2);
      },
    });
    const { web, watcher } = await started(order);
    const { runId } = await web.startWorkflow(order, null);
    let waitsSeen = 0;
    const follow = async (hub: Hub): Promise<readonly RunEvent[]> => {
      const events: RunEvent[] = [];
      for await (const event of hub.watch(runId)) {
        events.push(event);
        // A wait that has ended is shown to nobody.
        if (show(event) === 'paid waiting' && ++waitsSeen === 2) await web.emit('signal', {});
      }
      return events;
    };
    const both = Promise.all([follow(web), follow(watcher)]);
    pick.resolve();
    const [own, seen] = await both;
    const expected = ['pick completed', 'paid waiting', 'paid completed', 'ship completed', 'ship#2 completed'];
    expect(seen.map(show)).toEqual([...expected, 'end completed']);
    expect(own).toEqual(seen);
    expect(seen[0]).toMatchObject({ runId, step: { kind: 'run', attempt: 1, durationMs: expect.any(Number) } });
    expect(seen[1]).toMatchObject({ step: { waitsFor: { event: { type: 'signal' } } } });
    expect(JSON.stringify(seen)).not.toContain('address');
    const again: string[] = [];
    for await (const event of watcher.watch(runId)) again.push(show(event));
    expect(again).toEqual([...expected.filter((event) => event !== 'paid waiting'), 'end completed']);
  });

  test('yields failed attempts, and the failure of a run that is not retained', async () => {
    const start = deferred();
    const order = createWorkflow({
      name: 'order',
      retain: { completed: 0, failed: 0 },
      run: async ({ step }) => {
        await step.run('pick', () => 1);
        const retry = { maxAttempts: 2, initialDelayMs: 1 };
        const pay = async (): Promise<void> => {
          await start.promise;
          throw new Error('declined');
        };
        await step.run('pay', pay, { retry });
      },
    });
    const { web, watcher } = await started(order);
    const { runId } = await web.startWorkflow(order, null);
    const seen: RunEvent[] = [];
    for await (const event of watcher.watch(runId)) {
      seen.push(event);
      start.resolve();
    }
    expect(seen).toMatchObject([
      { type: 'step', step: { name: 'pick', status: 'completed' } },
      { type: 'step', step: { name: 'pay', status: 'retrying', error: { message: 'declined' } } },
      { type: 'step', step: { name: 'pay', status: 'failed', attempt: 2, error: { message: 'declined' } } },
      { type: 'run-end', runId, run: { status: 'failed' } },
    ]);
  });

  test('of 500 steps yields each of them once, in order, to a slow reader', async () => {
    const count = 500;
    const many = createWorkflow({
      name: 'many',
      run: async ({ step }) => {
        for (let index = 0; index < count; index += 1) await step.run(`s${index}`, () => index);
      },
    });
    const { web, watcher } = await started(many);
    const { runId } = await web.startWorkflow(many, null);
    const names: string[] = [];
    for await (const event of watcher.watch(runId)) {
      if (event.type === 'step') names.push(event.step.name);
      if (names.length % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(names).toEqual(Array.from({ length: count }, (_unused, index) => `s${index}`));
  });

  test('ends with its loop, its signal and its hub, and leaves the run alone', async () => {
    const held = deferred();
    const order = createWorkflow({
      name: 'order',
      run: async ({ step }) => {
        await step.run('first', () => 1);
        await step.run('second', () => held.promise);
      },
    });
    const { web, watcher } = await started(order);
    const run = await web.startWorkflow(order, null);
    for await (const event of watcher.watch(run.runId)) {
      expect(show(event)).toBe('first completed');
      break;
    }
    const abort = new AbortController();
    const aborted = (async () => {
      for await (const event of watcher.watch(run.runId, { signal: abort.signal })) abort.abort(new Error(show(event)));
    })();
    await expect(aborted).rejects.toThrow('first completed');
    const stopped = (async () => {
      for await (const event of watcher.watch(run.runId))
        if (show(event) === 'first completed') void watcher.stop({ drainMs: 0 });
    })();
    await expect(stopped).rejects.toMatchObject({ code: 'ERR_HUB_STOPPED' });
    held.resolve();
    await run.result();
  });

  test('refuses an unknown run, wrong arguments, and a hub that does not run', async () => {
    const order = createWorkflow({ name: 'order', run: async () => null });
    const { web, watcher } = await started(order);
    const next = watcher.watch('unknown')[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({
      code: 'ERR_UNKNOWN_RUN',
      message: expect.stringContaining('"unknown"'),
    });
    expect(() => watcher.watch('')).toThrow('runId of watch');
    expect(() => watcher.watch('x', { signal: 1 as never })).toThrow('signal of watch must be an AbortSignal');
    expect(() => watcher.watch('x', { limit: 1 } as never)).toThrow('one of signal');
    await web.stop();
    expect(() => web.watch('x')).toThrow(expect.objectContaining({ code: 'ERR_HUB_STOPPED' }));
  });
});
