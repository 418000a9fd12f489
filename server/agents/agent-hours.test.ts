import { expect, onTestFinished, test } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { createFakeClock } from '../testing/fake-clock.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { createAgent } from './create-agent.js';

const hour = 3_600_000;
const usage = { promptTokens: 60, completionTokens: 40, totalTokens: 100 };

test('a run in the function of a workflow counts from its first model call on, and its tokens in their hours', async () => {
  const clock = createFakeClock();
  const agent = createAgent({
    name: 'clerk',
    systemPrompt: 'Help.',
    model: { model: 'm' },
    prices: { m: { input: 1_000_000, output: 1_000_000 } },
    provider: scriptedProvider(['one', 'two', 'three', 'four'].map((content) => ({ content, usage }))),
    tokenBudget: 5_000,
    clock,
  });
  const hub = createHub({ logger: false, transport: memoryTransport({ clock }) });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  hub.workflow(
    createWorkflow({
      name: 'answer',
      run: async (ctx) => {
        await agent.run('x', { hubCtx: ctx });
        await ctx.step.sleep('pause', 2 * hour);
        await agent.run('y', { hubCtx: ctx });
      },
    }),
  );
  await hub.start();
  const start = Math.floor(clock.now() / hour) * hour;
  const read = async () => (await hub.introspect()).agents.find(({ name }) => name === 'clerk');
  await hub.startWorkflow('answer', {});
  await clock.settle();
  expect(await read()).toMatchObject({
    begun: 1,
    tokenUsage: { totalTokens: 100 },
    hours: [{ at: start, runs: 1, tokens: 100, cost: 100 }],
    tokenBudget: 5_000,
  });
  await clock.advance(2 * hour);
  await clock.settle();
  const later = { at: start + 2 * hour, runs: 1, tokens: 100, cost: 100 };
  expect(await read()).toMatchObject({ begun: 2, hours: [{ at: start }, later] });
  await clock.advance(23 * hour);
  await hub.startWorkflow('answer', {});
  await clock.settle();
  // A day has 24 hours before the current one.
  expect((await read())?.hours?.map(({ at }) => at)).toEqual([start + 2 * hour, start + 25 * hour]);
});
