import { readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ScriptEntry } from '../../testing/scripted-provider.js';
import type { AgentConfig } from '../create-agent.js';
import { StreamLockedError } from '../errors.js';
import { agentOf, callAdd } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import {
  toUIMessageResponse,
  toUIMessageStream,
  type UIMessageChunk,
  type UIMessageStreamOptions,
} from './ui-message-stream.js';

async function chunksOf(
  script: readonly ScriptEntry[],
  config: Partial<AgentConfig> = {},
  options?: UIMessageStreamOptions,
): Promise<UIMessageChunk[]> {
  return collect(toUIMessageStream(agentOf(script, config).agent.stream('secret question'), options));
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of stream) all.push(each);
  return all;
}

/** Reads a stream as the browser does, with the reader of the AI SDK. */
async function messageOf(
  script: readonly ScriptEntry[],
  config: Partial<AgentConfig> = {},
): Promise<{ message: UIMessage | undefined; errors: unknown[] }> {
  const errors: unknown[] = [];
  const stream = toUIMessageStream(agentOf(script, config).agent.stream('secret question'));
  let message: UIMessage | undefined;
  for await (message of readUIMessageStream({ stream, onError: (error) => errors.push(error) }));
  return { message, errors };
}

const failing = createTool({
  name: 'fail',
  description: '',
  parameters: {},
  execute: async () => {
    throw new Error('internal host db7');
  },
});
const odd = createTool({ name: 'odd', description: '', parameters: {}, execute: async () => ({ big: 10n }) });
const nothing = createTool({ name: 'nothing', description: '', parameters: {}, execute: async () => undefined });

test('the client of the AI SDK reads texts, tool calls and results of every turn', async () => {
  const { message, errors } = await messageOf(
    [
      { content: ['Let me ', 'add.'], ...callAdd(1, 2) },
      { toolCalls: [{ name: 'fail' }, { name: 'odd' }, { name: 'nothing' }, { name: 'add', arguments: '{"a":' }] },
      { content: ['It is ', '3.'] },
    ],
    { tools: [failing, odd, nothing, ...addTools()] },
  );
  expect(errors).toEqual([]);
  expect(message?.parts).toEqual([
    { type: 'step-start' },
    { type: 'text', text: 'Let me add.', state: 'done' },
    dynamicTool('add', 'call_1', { input: { a: 1, b: 2 }, output: 3 }),
    { type: 'step-start' },
    dynamicTool('fail', 'call_2', { input: {}, errorText: 'An error occurred.' }),
    dynamicTool('odd', 'call_3', { input: {}, output: { big: '10' } }),
    dynamicTool('nothing', 'call_4', { input: {}, output: null }),
    dynamicTool('add', 'call_5', { input: '{"a":', errorText: 'An error occurred.' }),
    { type: 'step-start' },
    { type: 'text', text: 'It is 3.', state: 'done' },
  ]);
});

function addTools() {
  return [
    createTool({
      name: 'add',
      description: '',
      parameters: { type: 'object' },
      execute: async ({ a, b }: { a: number; b: number }) => a + b,
    }),
  ];
}

function dynamicTool(
  toolName: string,
  toolCallId: string,
  rest: { input: unknown; output?: unknown; errorText?: string },
) {
  const state = rest.errorText === undefined ? 'output-available' : 'output-error';
  return expect.objectContaining({ type: 'dynamic-tool', toolName, toolCallId, state, ...rest });
}

test('the chunks hold no system prompt, no question, no transcript and no usage', async () => {
  const chunks = await chunksOf([callAdd(1, 2), 'Three.'], { systemPrompt: 'secret prompt' });
  expect(chunks.map(({ type }) => type)).toEqual([
    'start',
    'start-step',
    'tool-input-available',
    'tool-output-available',
    'finish-step',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
  expect(JSON.stringify(chunks)).not.toMatch(/secret|Tokens|messages/);
});

test('sendTools: false leaves out tool calls', async () => {
  const chunks = await chunksOf([{ content: 'Hm.', ...callAdd(1, 2) }, 'Three.'], {}, { sendTools: false });
  expect(JSON.stringify(chunks)).not.toMatch(/add|tool/);
  expect(chunks.filter(({ type }) => type === 'text-delta')).toHaveLength(2);
});

test.each<[string, ScriptEntry[], Partial<AgentConfig>, UIMessageChunk[]]>([
  ['completed', ['Yes.'], {}, [{ type: 'finish', finishReason: 'stop' }]],
  ['a cut answer', [{ content: 'Y', finishReason: 'length' }], {}, [{ type: 'finish', finishReason: 'length' }]],
  ['max_iterations', [callAdd(1, 2)], { maxIterations: 1 }, [{ type: 'finish', finishReason: 'tool-calls' }]],
  ['token_budget_exceeded', [callAdd(1, 2)], { tokenBudget: 12 }, [{ type: 'finish', finishReason: 'length' }]],
  [
    'failed',
    [new Error('key sk-1 rejected')],
    {},
    [
      { type: 'error', errorText: 'An error occurred.' },
      { type: 'finish', finishReason: 'error' },
    ],
  ],
])('the end of a run with status %s', async (_, script, config, expected) => {
  expect((await chunksOf(script, config)).slice(-expected.length)).toEqual(expected);
});

test('the client receives the error of the run, with the text of onError', async () => {
  const { errors } = await messageOf([new Error('down')]);
  expect(errors).toEqual([expect.objectContaining({ message: 'An error occurred.' })]);
  const onError = (error: unknown): string => `sorry: ${error instanceof Error ? error.message : 'no error'}`;
  const chunks = await chunksOf(
    [{ toolCalls: [{ name: 'fail' }] }, new Error('down')],
    { tools: [failing] },
    { onError },
  );
  expect(chunks.filter((chunk) => 'errorText' in chunk).map(({ errorText }) => errorText)).toEqual([
    'sorry: internal host db7',
    'sorry: down',
  ]);
});

test.each([undefined, 'left', new Error('left'), { code: 7 }])(
  'a run aborted with %o ends with abort',
  async (reason) => {
    const abort = new AbortController();
    const { agent } = agentOf([{ content: ['a'], delayMs: 60_000 }]);
    const stream = toUIMessageStream(agent.stream('x', { signal: abort.signal }));
    abort.abort(reason);
    expect(await collect(stream)).toEqual([{ type: 'start' }, { type: 'abort' }]);
  },
);

test.each([
  () => {
    throw new Error('broken');
  },
  () => Promise.reject(new Error('broken')),
  () => undefined,
])('an onError without a text costs the browser nothing of the answer: %s', async (wrong) => {
  const { agent } = agentOf([{ content: 'a', toolCalls: [{ name: 'none' }] }, 'b']);
  // Wrong on purpose: the compiler rejects it.
  const chunks = await collect(toUIMessageStream(agent.stream('x'), { onError: wrong as never }));
  expect(chunks).toContainEqual(expect.objectContaining({ errorText: 'An error occurred.' }));
  expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' });
});

test('a run is read once', async () => {
  const run = agentOf(['a']).agent.stream('x');
  const first = toUIMessageStream(run);
  expect(() => toUIMessageStream(run)).toThrow(StreamLockedError);
  expect(await collect(first)).toContainEqual({ type: 'text-delta', id: 'text-1', delta: 'a' });
});

test('cancelling the stream aborts a run that is waiting for its model', async () => {
  let signal: AbortSignal | undefined;
  const chat = (_: unknown, options: { signal?: AbortSignal }) => {
    signal = options.signal;
    return new Promise<never>(() => {});
  };
  const run = agentOf([], { provider: { chat } }).agent.stream('x');
  const ended = run.result.catch((error: unknown) => error);
  const response = toUIMessageResponse(run);
  const reader = response.body?.getReader();
  await reader?.read();
  const waiting = reader?.read();
  await reader?.cancel();
  await waiting;
  expect(await ended).toMatchObject({ code: 'ERR_STREAM_CLOSED' });
  expect(signal?.aborted).toBe(true);
});

test('the response has the headers of the protocol and its own', async () => {
  const { agent } = agentOf(['Hi.']);
  const response = toUIMessageResponse(agent.stream('x'), { headers: { 'x-run': '7' } });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-run': '7',
  });
  const body = await response.text();
  expect(body.startsWith('data: {"type":"start"}\n\n')).toBe(true);
  expect(body.endsWith('data: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n')).toBe(true);
});

test('arguments are checked', () => {
  const { agent } = agentOf(['Hi.']);
  const wrong = { onerror: () => '' } as never;
  expect(() => toUIMessageStream(agent as never)).toThrow('stream of toUIMessageStream must be the stream of an agent');
  expect(() => toUIMessageStream(agent.stream('x'), wrong)).toThrow(
    'one of sendTools, sendReasoning, sendSources, onError',
  );
});

test('the client of the AI SDK reads the reasoning, and the typed answer while it is written', async () => {
  const script: ScriptEntry[] = [
    { reasoning: ['Add ', 'first.'], content: 'Let me see.', ...callAdd(1, 2) },
    { reasoning: 'Now answer.', content: ['{"title": "A sum of ', 'two numbers", "result": 3', '}'] },
  ];
  const outputSchema = z.object({ title: z.string(), result: z.number() });
  const { message, errors } = await messageOf(script, { tools: addTools(), outputSchema });
  expect(errors).toEqual([]);
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'Add first.', state: 'done' },
    { type: 'text', text: 'Let me see.', state: 'done' },
    { type: 'dynamic-tool', state: 'output-available' },
    { type: 'step-start' },
    { type: 'reasoning', text: 'Now answer.' },
    { type: 'text' },
    { type: 'data-object', data: { title: 'A sum of two numbers', result: 3 } },
  ]);
  const data = (await chunksOf(script, { tools: addTools(), outputSchema })).flatMap((chunk) =>
    chunk.type === 'data-object' ? [chunk.data] : [],
  );
  expect(data).toEqual([
    { title: 'A sum of ' },
    { title: 'A sum of two numbers' },
    { title: 'A sum of two numbers', result: 3 },
  ]);
  const hidden = await chunksOf(script, { tools: addTools(), outputSchema }, { sendReasoning: false });
  expect(hidden.filter(({ type }) => type.startsWith('reasoning'))).toEqual([]);
});

test('a call that needs approval is a part of the message, which shows the decision', async () => {
  const tool = createTool({
    name: 'pay',
    description: '',
    parameters: { type: 'object' },
    needsApproval: true,
    execute: async () => 'paid',
  });
  const script = [{ toolCalls: [{ name: 'pay' }, { name: 'pay', arguments: { n: 2 } }] }, 'Done.'];
  const asked: string[] = [];
  const stream = agentOf(script, { tools: [tool] }).agent.stream('x', {
    onApproval: ({ approvalId }) => ({ approved: asked.push(approvalId) === 1 }),
  });
  const chunks = await collect(toUIMessageStream(stream));
  expect(chunks.filter(({ type }) => /approval|output/.test(type))).toEqual([
    { type: 'tool-approval-request', toolCallId: 'call_1', approvalId: asked[0] },
    { type: 'tool-approval-request', toolCallId: 'call_2', approvalId: asked[1] },
    // A refusal takes no time.
    { type: 'tool-output-denied', toolCallId: 'call_2' },
    { type: 'tool-output-available', toolCallId: 'call_1', output: 'paid', dynamic: true },
  ]);
});
