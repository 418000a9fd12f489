import { SpanStatusCode, trace } from '@opentelemetry/api';
import { expect, it, vi } from 'vitest';
import { FatalError } from '../errors.js';
import { testHub } from '../hub/hub.fixture.js';
import { kindOf, recordTelemetry } from '../testing/record-telemetry.fixture.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { createAgent } from './create-agent.js';
import { ProviderError } from './model/provider-error.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createPipeline } from './multi-agent/create-pipeline.js';
import { createAgentRegistry } from './multi-agent/delegation.js';
import { agentOf, callAdd, usageOf } from './scripted-agent.fixture.js';
import { createTool } from './tools/tool.js';

const activeSpanId = (): string | undefined => trace.getActiveSpan()?.spanContext().spanId;

it('a run is an invoke_agent span that contains a span per model call and tool call', async () => {
  const telemetry = recordTelemetry();
  const within: unknown[] = [];
  const provider = scriptedProvider([
    () => {
      within.push(activeSpanId());
      return { ...callAdd(1, 2), usage: usageOf(100) };
    },
    { content: 'It is three.', usage: usageOf(50) },
  ]);
  const agent = createAgent({
    name: 'calculator',
    description: 'Adds',
    systemPrompt: 'secret prompt',
    provider,
    model: { model: 'gpt-4o-mini', temperature: 0.5, maxTokens: 500 },
    tools: [
      createTool({
        name: 'add',
        description: 'Adds',
        parameters: {},
        async execute() {
          await Promise.resolve();
          within.push(activeSpanId());
        },
      }),
    ],
  });
  await agent.run('secret question', { requestId: 'request 1' });

  expect(telemetry.tree()).toEqual([
    'invoke_agent calculator',
    '  chat gpt-4o-mini',
    '  execute_tool add',
    '  chat gpt-4o-mini',
  ]);
  const [first, tool, second, run] = telemetry.spans;
  expect(telemetry.spans.map(kindOf)).toEqual(['CLIENT', 'INTERNAL', 'CLIENT', 'INTERNAL']);
  expect(within).toEqual([first?.spanContext().spanId, tool?.spanContext().spanId]);
  const part = { 'gen_ai.agent.name': 'calculator', 'gen_ai.conversation.id': 'request 1' };
  const model = { 'gen_ai.provider.name': 'scripted', 'gen_ai.request.model': 'gpt-4o-mini' };
  expect(run?.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    ...part,
    ...model,
    'gen_ai.agent.description': 'Adds',
    'gen_ai.usage.input_tokens': 148,
    'gen_ai.usage.output_tokens': 2,
    'hubline.run.status': 'completed',
  });
  const call = {
    'gen_ai.operation.name': 'chat',
    ...part,
    ...model,
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 500,
    'gen_ai.usage.output_tokens': 1,
    'hubline.attempt': 1,
  };
  expect([first?.attributes, second?.attributes]).toEqual([
    { ...call, 'gen_ai.response.finish_reasons': ['tool_calls'], 'gen_ai.usage.input_tokens': 99 },
    { ...call, 'gen_ai.response.finish_reasons': ['stop'], 'gen_ai.usage.input_tokens': 49 },
  ]);
  expect(tool?.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    ...part,
    'gen_ai.tool.name': 'add',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': 'call_1',
  });
});

it('a streamed run has the same spans', async () => {
  const telemetry = recordTelemetry();
  const { agent } = agentOf([{ content: ['It is ', 'three.'], usage: usageOf(10) }]);
  await agent.stream('1 + 2').result;
  expect(telemetry.tree()).toEqual(['invoke_agent calculator', '  chat m']);
  expect(telemetry.span('chat m').attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 9 });
});

it('each attempt at a model call is a span, and a failed one records its error', async () => {
  const telemetry = recordTelemetry();
  const overloaded = new ProviderError('overloaded', { provider: 'scripted', statusCode: 529, retryable: true });
  const { agent } = agentOf([overloaded, 'Three.'], { retry: { initialDelayMs: 0 } });
  await agent.run('1 + 2');
  const calls = telemetry.spans.filter(({ name }) => name === 'chat m');
  expect(calls.map(({ attributes }) => [attributes['hubline.attempt'], attributes['error.type']])).toEqual([
    [1, 'ProviderError'],
    [2, undefined],
  ]);
  expect(calls.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.UNSET]);
  expect(telemetry.span('invoke_agent calculator').status.code).toBe(SpanStatusCode.UNSET);
});

it('a tool call that fails or cannot be executed is a failed span of a run that continues', async () => {
  const telemetry = recordTelemetry();
  const { agent } = agentOf([
    { toolCalls: [{ name: 'add', arguments: { a: 'one' } }, { name: 'subtract' }] },
    'I cannot.',
  ]);
  await agent.run('1 + 2');
  for (const name of ['add', 'unknown']) {
    const { status, events } = telemetry.span(`execute_tool ${name}`);
    expect(status.code).toBe(SpanStatusCode.ERROR);
    expect(events.map((event) => event.name)).toEqual(['exception']);
  }
  expect(telemetry.span('invoke_agent calculator').status.code).toBe(SpanStatusCode.UNSET);
});

it('a run that does not complete or is aborted is a failed span', async () => {
  const telemetry = recordTelemetry();
  await agentOf([callAdd(1, 2)], { name: 'tireless', maxIterations: 1 }).agent.run('');
  await agentOf([new TypeError('no such model')], { name: 'broken' }).agent.run('');
  const { agent } = agentOf([{ content: 'late', delayMs: 60_000 }], { name: 'slow' });
  const signal = AbortSignal.abort(new RangeError('enough'));
  await expect(agent.run('', { signal })).rejects.toThrow('enough');
  const ends = telemetry.spans.filter(({ name }) => name.startsWith('invoke_agent'));
  expect(
    ends.map(({ name, attributes }) => [name, attributes['hubline.run.status'], attributes['error.type']]),
  ).toEqual([
    ['invoke_agent tireless', 'max_iterations', 'AgentRunError'],
    ['invoke_agent broken', 'failed', 'TypeError'],
    ['invoke_agent slow', undefined, 'RangeError'],
  ]);
});

it('the spans of a delegate are nested', async () => {
  const telemetry = recordTelemetry();
  const registry = createAgentRegistry();
  registry.register(agentOf(['Three.'], { name: 'adder' }).agent);
  const delegate = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'adder', input: '1 + 2' } }] };
  const { agent } = agentOf([delegate, 'It is three.'], { name: 'clerk', registry });
  await agent.run('1 + 2');
  expect(telemetry.tree()).toEqual([
    'invoke_agent clerk',
    '  chat m',
    '  execute_tool delegate',
    '    invoke_agent adder',
    '      chat m',
    '  chat m',
  ]);
});

it('a debate is a workflow span that contains its speakers', async () => {
  const telemetry = recordTelemetry();
  const speaker = (name: string) => agentOf(['I disagree.'], { name }).agent;
  const participants = [speaker('growth'), speaker('finance')];
  await createDebate({ name: 'pricing', participants, maxRounds: 1 }).run('Free?', { requestId: 'request 1' });
  expect(telemetry.tree()).toEqual([
    'invoke_workflow pricing',
    '  invoke_agent growth',
    '    chat m',
    '  invoke_agent finance',
    '    chat m',
  ]);
  expect(telemetry.span('invoke_workflow pricing').attributes).toEqual({
    'gen_ai.operation.name': 'invoke_workflow',
    'gen_ai.workflow.name': 'pricing',
    'gen_ai.conversation.id': 'request 1',
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 10,
    'hubline.run.status': 'completed',
  });
});

it('a pipeline on a hub is one trace, events emitted by tools included', async () => {
  const telemetry = recordTelemetry();
  const { hub } = testHub();
  const tell = createTool({
    name: 'tell',
    description: 'Tells',
    parameters: {},
    execute: async (_input: unknown, { emit }) => {
      await emit('told', null);
    },
  });
  const { agent: triage } = agentOf([{ toolCalls: [{ name: 'tell' }] }, 'Refund.'], { name: 'triage', tools: [tell] });
  const { agent: review } = agentOf([new FatalError('no quota')], { name: 'review' });
  hub.event({ type: 'told', handler: () => {} });
  hub.workflow(createPipeline({ name: 'answer', steps: [{ agent: triage }, { agent: review }] }));
  await hub.start();
  const run = await hub.startWorkflow('answer', 'My teapot broke!');
  await expect(run.result()).rejects.toThrow('no quota');
  await vi.waitFor(() =>
    expect(telemetry.tree()).toEqual([
      'send answer',
      '  process answer',
      '    step triage',
      '      invoke_agent triage',
      '        chat m',
      '        execute_tool tell',
      '        chat m',
      '    send told',
      '      process told',
      '    step review',
      '      invoke_agent review',
      '        chat m',
    ]),
  );
  const failed = telemetry.spans.filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(failed.map(({ name }) => name)).toEqual(['chat m', 'invoke_agent review', 'step review', 'process answer']);
});

it('reported tokens and durations are metrics; estimated tokens are not', async () => {
  const telemetry = recordTelemetry();
  const { agent } = agentOf([
    { content: 'Three.', usage: usageOf(100) },
    { content: 'Four.', usage: null },
  ]);
  await agent.run('1 + 2');
  await agent.run('2 + 2');
  const chat = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'm',
  };
  expect(await telemetry.points('gen_ai.client.token.usage')).toEqual([
    { attributes: { ...chat, 'gen_ai.token.type': 'input' }, value: { count: 1, sum: 99 } },
    { attributes: { ...chat, 'gen_ai.token.type': 'output' }, value: { count: 1, sum: 1 } },
  ]);
  const durations = await telemetry.points('gen_ai.client.operation.duration');
  expect(durations.map(({ attributes, value }) => [attributes['gen_ai.operation.name'], value])).toEqual([
    ['chat', { count: 2, sum: expect.any(Number) }],
    ['invoke_agent', { count: 2, sum: expect.any(Number) }],
  ]);
});

it('a tool name that the model invents is not recorded, and a long id is cut to 64 characters', async () => {
  const telemetry = recordTelemetry();
  const name = 'x'.repeat(20_000);
  const { agent } = agentOf([{ toolCalls: [{ name, id: name }] }, 'I cannot.']);
  await agent.run('1 + 2');
  const span = telemetry.span('execute_tool unknown');
  for (const value of Object.values(span.attributes)) expect(String(value).length).toBeLessThanOrEqual(64);
  expect(JSON.stringify(span.events).length).toBeLessThan(5_000);
});
