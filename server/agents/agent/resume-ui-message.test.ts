import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { createHub } from '../../hub/create-hub.js';
import { deferred } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { add, agentOf, callAdd } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import type { ApprovalDecided, ApprovalRequest } from './approval.js';
import { type ResumeUIMessageOptions, resumeUIMessageResponse } from './resume-ui-message.js';

const anyone: ResumeUIMessageOptions = { authorize: () => true };

function resume(hub: Hub, runId: string, options: Partial<ResumeUIMessageOptions> = {}): Promise<Response> {
  return resumeUIMessageResponse(hub, runId, new Request('http://localhost'), { ...anyone, ...options });
}

/** Reads the chunks of a response. */
async function* chunksOf(response: Response): AsyncGenerator<UIMessageChunk> {
  let text = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (text + piece).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      if (event.startsWith('data: {')) yield JSON.parse(event.slice('data: '.length)) as UIMessageChunk;
    }
  }
}

/** Reads the message of a response with the reader of the AI SDK, until it has what is awaited. */
async function messageOf(
  response: Response,
  isAwaited: (message: UIMessage) => boolean = () => false,
): Promise<UIMessage> {
  const stream = ReadableStream.from(chunksOf(response));
  let last: UIMessage | undefined;
  for await (last of readUIMessageStream({ stream })) if (isAwaited(last)) break;
  if (last === undefined) throw new Error('the response has no message');
  return last;
}

const shows =
  (text: string) =>
  (message: UIMessage): boolean =>
    JSON.stringify(message.parts).includes(text);

const book = createTool({
  name: 'book',
  description: '',
  parameters: { type: 'object' },
  needsApproval: true,
  execute: async (_, ctx) => {
    await ctx.publish({ type: 'data-seat', id: 'seat', data: '12A' });
    await ctx.publish({ progress: 1 });
    return { booked: true };
  },
});

/** Starts a hub whose agent answers `asked` events. Returns it with what decides on its calls. */
async function started(
  transport: Transport,
  script: readonly ScriptEntry[] | ModelProvider,
  config: Partial<AgentConfig> = {},
): Promise<{ hub: Hub; requests: ApprovalRequest[]; stop(): Promise<unknown> }> {
  const provider = 'chat' in script ? script : scriptedProvider(script);
  const agent = createAgent({
    name: 'clerk',
    systemPrompt: 'secret prompt',
    provider,
    model: { model: 'm' },
    tools: [add, book],
    ...config,
  });
  const hub = createHub({ transport, service: 'shop', logger: false });
  const requests: ApprovalRequest[] = [];
  const requested = hub.event<ApprovalRequest>({
    type: 'requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
  hub.event({
    type: 'asked',
    handler: agent.asHandler({ publish: true, approvals: { requested, decided } }),
    retry: { maxAttempts: 3, initialDelayMs: 1, jitter: false },
  });
  await hub.start();
  const stop = (): Promise<unknown> => hub.stop({ drainMs: 0 });
  onTestFinished(async () => void (await stop()));
  return { hub, requests, stop };
}

describe.each(everyTransport)('an answer on the %s transport', (_, createTransport) => {
  it('is resumed in any process: the texts, a call that waits for a decision, and its result', async () => {
    const transport = createTransport();
    const script: ScriptEntry[] = [
      { reasoning: 'Sum first.', content: ['Let me ', 'add.'], ...callAdd(1, 2) },
      { content: 'Now I book.', toolCalls: [{ name: 'book', arguments: { seats: 3 } }] },
      { content: ['It is ', 'booked.'] },
    ];
    const worker = await started(transport, script);
    const web = createHub({ transport, service: 'web', logger: false });
    await web.start();
    onTestFinished(async () => void (await web.stop({ drainMs: 0 })));
    const { id } = await worker.hub.emit('asked', 'secret question');
    const tab = await resume(web, id);
    expect(tab.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    const whole = messageOf(tab);
    const waiting = await messageOf(await resume(web, id), shows('approval-requested'));
    const begin = [
      { type: 'step-start' },
      { type: 'reasoning', text: 'Sum first.', state: 'done' },
      { type: 'text', text: 'Let me add.', state: 'done' },
      { type: 'dynamic-tool', toolName: 'add', input: { a: 1, b: 2 }, output: 3, state: 'output-available' },
      { type: 'step-start' },
      { type: 'text', text: 'Now I book.', state: 'done' },
    ];
    await vi.waitFor(() => expect(worker.requests).toHaveLength(1));
    const [{ approvalId } = { approvalId: '' }] = worker.requests;
    const call = { type: 'dynamic-tool', toolName: 'book', input: { seats: 3 }, approval: { id: approvalId } };
    expect(waiting.id).toBe(id);
    expect(waiting.parts).toMatchObject([...begin, { ...call, state: 'approval-requested' }]);
    await worker.hub.emit('decided', { approvalId, approved: true });
    const end = [
      { ...call, state: 'output-available', output: { booked: true } },
      { type: 'data-seat', data: '12A' },
      { type: 'step-start' },
      { type: 'text', text: 'It is booked.', state: 'done' },
    ];
    expect((await whole).parts).toMatchObject([...begin, ...end]);
    const again = await messageOf(await resume(web, id));
    expect(again).toEqual(await whole);
    expect(JSON.stringify(again)).not.toContain('secret');
    const quiet = await messageOf(await resume(web, id, { sendTools: false, sendReasoning: false }));
    expect(quiet.parts.map(({ type }) => type)).toEqual([
      'step-start',
      'text',
      'step-start',
      'text',
      'data-seat',
      'step-start',
      'text',
    ]);
  });

  it('breaks off if a model call is repeated, and has the repeated text alone when it is resumed', async () => {
    const transport = createTransport();
    const [seen, over] = [deferred(), deferred()];
    let calls = 0;
    const provider: ModelProvider = {
      chat: () => expect.fail('streams'),
      async *chatStream() {
        calls += 1;
        yield { content: `attempt ${calls}` };
        if (calls === 1) await seen.promise;
        if (calls === 1) throw new Error('the connection is lost');
        await over.promise;
        yield { content: ' ends', finishReason: 'stop' as const };
      },
    };
    const { hub } = await started(transport, provider);
    const { id } = await hub.emit('asked', 'x');
    let shown = '';
    const broken = (async () => {
      for await (const chunk of chunksOf(await resume(hub, id))) {
        if (chunk.type === 'text-delta') shown += chunk.delta;
        if (shown === 'attempt 1') seen.resolve();
      }
    })();
    await expect(broken).rejects.toThrow('a model call is repeated');
    const resumed = await resume(hub, id);
    over.resolve();
    expect((await messageOf(resumed)).parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'attempt 2 ends' },
    ]);
  });
});

test.each<
  [string, ScriptEntry[], (hub: Hub, id: string, request: ApprovalRequest) => Promise<unknown>, UIMessageChunk[]]
>([
  [
    'a refusal',
    [{ toolCalls: [{ name: 'book' }] }, { content: 'Pity', finishReason: 'length' }],
    (hub, _, { approvalId }) => hub.emit('decided', { approvalId, approved: false, reason: 'secret' }),
    [
      { type: 'tool-output-denied', toolCallId: 'call_1' },
      { type: 'finish-step' },
      { type: 'start-step' },
      { type: 'text-start', id: 'text-2' },
      { type: 'text-delta', id: 'text-2', delta: 'Pity' },
      { type: 'text-end', id: 'text-2' },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'length' },
    ],
  ],
  [
    'a cancellation',
    [{ toolCalls: [{ name: 'book' }] }],
    (hub, id) => hub.cancel(id),
    [{ type: 'finish-step' }, { type: 'abort' }],
  ],
  [
    'a failure',
    [{ toolCalls: [{ name: 'book' }] }, ...Array.from({ length: 3 }, () => new Error('key sk-1 rejected'))],
    (hub, _, { approvalId }) => hub.emit('decided', { approvalId, approved: false }),
    [
      { type: 'finish-step' },
      { type: 'error', errorText: 'An error occurred.' },
      { type: 'finish', finishReason: 'error' },
    ],
  ],
])('an answer ends with %s', async (_, script, decide, expected) => {
  const { hub, requests } = await started(memoryTransport(), script);
  const { id } = await hub.emit('asked', 'x');
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  const [request] = requests;
  if (request === undefined) return;
  await decide(hub, id, request);
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of chunksOf(await resume(hub, id))) chunks.push(chunk);
  expect(chunks.slice(-expected.length)).toEqual(expected);
});

test('an agent in the function of a workflow publishes its typed answer, large values cut, and delegates nothing', async () => {
  const long = 'x'.repeat(100_000);
  const read = createTool({ name: 'read', description: '', parameters: { type: 'object' }, execute: async () => long });
  const { agent } = agentOf(
    [{ toolCalls: [{ name: 'read', arguments: { long } }] }, { content: ['{"value": [1, ', '2]}'] }],
    { tools: [read], outputSchema: z.array(z.number()), maxToolResultChars: 200_000 },
  );
  const { agent: writer } = agentOf([long, 'silent'], { name: 'writer' });
  const sum = createWorkflow({
    name: 'sum',
    run: async (ctx) => {
      const { data } = await agent.run('x', { hubCtx: ctx, publish: true });
      await writer.run('x', { hubCtx: ctx, publish: true });
      await writer.run('silent', { hubCtx: ctx });
      return data;
    },
  });
  const hub = createHub({ logger: false });
  hub.workflow(sum);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const { runId } = await hub.startWorkflow(sum, null);
  const { parts } = await messageOf(await resume(hub, runId));
  expect(parts).toMatchObject([
    { type: 'step-start' },
    { type: 'dynamic-tool', input: {}, output: expect.stringContaining('[The result is cut: 34464 of 100000') },
    { type: 'step-start' },
    { type: 'text', text: '{"value": [1, 2]}' },
    { type: 'data-object', data: [1, 2] },
    { type: 'step-start' },
    { type: 'text', text: long, state: 'done' },
  ]);
});

test('each handoff in the function of a workflow is a part of the answer', async () => {
  const registry = createAgentRegistry();
  registry.register(agentOf(['Done.', 'Done.'], { name: 'taker' }).agent, { handoff: true });
  const handOver = { toolCalls: [{ name: 'handoff', arguments: { agentName: 'taker' } }] };
  const giver = (name: string) => agentOf([handOver], { name, registry }).agent;
  const [first, second] = [giver('first'), giver('second')];
  const handed = createWorkflow({
    name: 'handed',
    async run(ctx) {
      for (const agent of [first, second]) await agent.run('x', { hubCtx: ctx, publish: true });
    },
  });
  const hub = createHub({ logger: false });
  hub.workflow(handed);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const { runId } = await hub.startWorkflow(handed, null);
  const { parts } = await messageOf(await resume(hub, runId));
  const handoffs = parts.flatMap((part) => (part.type === 'data-handoff' ? [[part.id, part.data]] : []));
  expect(handoffs).toEqual([
    ['handoff-1', { from: 'first', to: 'taker' }],
    ['handoff-3', { from: 'second', to: 'taker' }],
  ]);
});

test('requests that are not authorized, unknown runs and wrong options are refused', async () => {
  const { hub } = await started(memoryTransport(), ['Hi.']);
  const { id } = await hub.emit('asked', 'x');
  const refuse = { authorize: (_: Request, runId: string) => runId !== id };
  expect((await resume(hub, id, refuse)).status).toBe(403);
  expect((await resume(hub, 'unknown', refuse)).status).toBe(204);
  // @ts-expect-error authorize is required
  await expect(resumeUIMessageResponse(hub, id, new Request('http://x'), {})).rejects.toThrow('authorize of resume');
  const { agent } = agentOf([]);
  await expect(agent.run('x', { publish: true })).rejects.toThrow(
    'publish of a run of agent "calculator" must be omitted',
  );
  // @ts-expect-error no boolean
  expect(() => agent.asHandler({ publish: 'yes' })).toThrow('publish');
});

test('a page that leaves does not stop the run, and a hub that stops breaks the response off', async () => {
  const { hub, requests, stop } = await started(memoryTransport(), [{ toolCalls: [{ name: 'book' }] }]);
  const { id } = await hub.emit('asked', 'x');
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  const response = await resume(hub, id);
  await messageOf(response, shows('approval-requested'));
  expect((await hub.find(id))[0]?.status).toBe('suspended');
  const open = (async () => {
    for await (const chunk of chunksOf(await resume(hub, id))) if (chunk.type === 'tool-approval-request') void stop();
  })();
  await expect(open).rejects.toThrow('hub');
});
