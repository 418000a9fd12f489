import { expect, test } from 'vitest';
import { testHub } from '../hub/hub.fixture.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import type { Agent } from './agent/agent.js';
import { createAgent } from './create-agent.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createTool } from './tools/tool.js';

function agentOf(name: string, answers: number, config: Partial<Parameters<typeof createAgent>[0]> = {}): Agent {
  const provider = scriptedProvider(Array.from({ length: answers }, () => 'ok'));
  return createAgent({ name, systemPrompt: '', provider, model: { model: 'm' }, ...config });
}

test('agents that run in a handler of the application are shown and counted', async () => {
  const { hub } = testHub();
  const direct = agentOf('direct', 2);
  const spread = agentOf('spread', 1);
  const step = agentOf('step', 1);
  const inTool = agentOf('in-tool', 1);
  const ask = createTool({
    name: 'ask',
    description: '',
    parameters: {},
    execute: async (_input: unknown, ctx) => (await inTool.run('x', { hubCtx: ctx })).output,
  });
  const outer = createAgent({
    name: 'outer',
    systemPrompt: '',
    provider: scriptedProvider([{ toolCalls: [{ name: 'ask' }] }, 'ok']),
    model: { model: 'm' },
    tools: [ask],
  });
  const speakers = [agentOf('for', 1), agentOf('against', 1)];
  const debate = createDebate({ name: 'd', participants: speakers, maxRounds: 1 });
  hub.event({
    type: 'asked',
    handler: async (ctx) => {
      await direct.run('x', { hubCtx: ctx });
      await direct.run('x', { hubCtx: ctx });
      await spread.run('x', { hubCtx: { ...ctx } });
      await outer.run('x', { hubCtx: ctx });
      await debate.run('x', { hubCtx: ctx });
      // An application may create an agent per event.
      for (const answers of [1, 2]) await agentOf('per-event', answers).run('x', { hubCtx: ctx });
    },
  });
  const workflow = createWorkflow({
    name: 'w',
    run: ({ step: steps }) => steps.run('ask', async (ctx) => (await step.run('x', { hubCtx: ctx })).output),
  });
  hub.workflow(workflow);
  await hub.start();
  expect((await hub.introspect()).agents).toEqual([]);
  const before = await hub.revision();
  await hub.emit('asked', null);
  await expect.poll(async () => (await hub.metrics('asked')).completed).toBe(1);
  await (await hub.startWorkflow('w', null)).result();
  const { agents, events } = await hub.introspect();
  expect(Object.fromEntries(agents.map(({ name, runs }) => [name, runs['completed']]))).toEqual({
    direct: 2,
    spread: 1,
    outer: 1,
    'in-tool': 1,
    for: 1,
    against: 1,
    'per-event': 2,
    step: 1,
  });
  expect(agents.find(({ name }) => name === 'per-event')?.tokenUsage.totalTokens).toBe(30);
  expect(events.find(({ type }) => type === 'asked')?.kind).toBe('handler');
  expect(await hub.revision()).not.toBe(before);
});
