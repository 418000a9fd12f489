import { generateText, readUIMessageStream, streamText, type UIMessage } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { asLanguageModel } from '../ai-sdk/as-language-model.js';
import type { ModelProvider } from '../model/model-provider.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';
import { add, agentOf, callAdd } from '../scripted-agent.fixture.js';
import type { AgentHandlerResult } from './agent.js';
import type { PublishedAgentEvent } from './published-events.js';
import { resumeUIMessageResponse } from './resume-ui-message.js';
import { toUIMessageStream, type UIMessageStreamOptions } from './ui-message-stream.js';

const page: Source = { type: 'url', id: 's1', url: 'https://example.com/shannon', title: 'Shannon' };
const book: Source = {
  type: 'document',
  id: 's2',
  mediaType: 'application/pdf',
  filename: 'life.pdf',
  title: 'A life',
};
const search: VendorCall = { id: 'v1', name: 'web_search', arguments: '{"query":"Shannon"}', result: { found: 1 } };
const failed: VendorCall = { id: 'v2', name: 'code_execution', arguments: '', result: { code: 'x' }, isError: true };
const answer = { content: 'Born in 1916.', sources: [page, book, page], vendorCalls: [search, failed] };

describe('sources and calls of the vendor', () => {
  test.each(['run', 'stream'] as const)('are in the result of %s, over all turns, each once', async (how) => {
    const { agent } = agentOf([
      { ...callAdd(1, 2), vendorCalls: [search] },
      { ...answer, vendorCalls: [failed] },
    ]);
    const result = how === 'run' ? await agent.run('x') : await agent.stream('x').result;
    expect(result).toMatchObject({ sources: [page, book], vendorCalls: [search, failed] });
    expect(result.toolCalls.map(({ name }) => name)).toEqual(['add']);
    const { agent: plain } = agentOf(['ok']);
    expect(Object.keys(await plain.run('x'))).not.toContain('sources');
  });

  test('are events of the stream, also of a provider that does not stream', async () => {
    const provider = scriptedProvider([answer, answer]);
    const whole: ModelProvider = { chat: (...args) => provider.chat(...args) };
    const { result: _result, ...begun } = search;
    const { result: _error, isError: _isError, ...failing } = failed;
    for (const [each, calls] of [
      [provider, [begun, search, failing, failed]],
      [whole, [search, failed]],
    ] as const) {
      const shown: unknown[] = [];
      for await (const event of agentOf([], { provider: each }).agent.stream('x')) {
        if (event.type === 'source') shown.push(event.source.id);
        else if (event.type === 'vendor-call') shown.push(event.call);
        else if (event.type === 'text-delta') shown.push(event.text);
      }
      expect(shown).toEqual([...calls, 'Born in 1916.', 's1', 's2', 's1']);
    }
  });

  const partsOf = async (options: UIMessageStreamOptions): Promise<UIMessage['parts']> => {
    const { agent } = agentOf([answer]);
    let parts: UIMessage['parts'] = [];
    const stream = toUIMessageStream(agent.stream('x'), options);
    for await (const message of readUIMessageStream({ stream })) parts = message.parts;
    return parts.filter(({ type }) => type !== 'text' && type !== 'step-start');
  };

  const tools = [
    {
      type: 'dynamic-tool',
      toolName: 'web_search',
      toolCallId: 'v1',
      state: 'output-available',
      input: { query: 'Shannon' },
      output: { found: 1 },
      providerExecuted: true,
    },
    { type: 'dynamic-tool', toolName: 'code_execution', state: 'output-error', providerExecuted: true },
  ];
  const sources = [
    { type: 'source-url', sourceId: 's1', url: 'https://example.com/shannon', title: 'Shannon' },
    { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf', title: 'A life', filename: 'life.pdf' },
    { type: 'source-url', sourceId: 's1' },
  ];

  test.each([
    [{}, [...tools, ...sources]],
    [{ sendTools: false }, sources],
    [{ sendSources: false }, tools],
  ])('are parts of UI messages with %j', async (options, parts) => {
    expect(await partsOf(options)).toMatchObject(parts);
  });

  test('are recorded, published, counted, and passed on by a handler', async () => {
    const hub = createHub();
    const { agent } = agentOf([{ ...callAdd(1, 2), ...answer }, 'Done.'], { tools: [add] });
    const results: AgentHandlerResult[] = [];
    hub.event({ type: 'asked', handler: agent.asHandler({ publish: true }), onSuccess: 'answered' });
    hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    const { id } = await hub.emit('asked', 'x');
    await expect
      .poll(() => results)
      .toMatchObject([
        { sources: [page, book], vendorCalls: [{ name: 'web_search' }, { name: 'code_execution', isError: true }] },
      ]);
    expect(JSON.stringify(results[0]?.vendorCalls)).not.toContain('Shannon');
    const published: string[] = [];
    for await (const entry of hub.stream(id)) {
      const event = entry.type === 'data' && (entry.data as PublishedAgentEvent); // of the agent alone
      if (event) published.push(event.type);
    }
    expect(published.filter((type) => type === 'source' || type === 'vendor-call')).toEqual([
      ...['vendor-call', 'vendor-call', 'vendor-call', 'vendor-call'],
      ...['source', 'source', 'source'],
    ]);
    const request = new Request('http://localhost');
    const response = await resumeUIMessageResponse(hub, id, request, { authorize: () => true });
    const text = await response.text();
    expect(text).toContain('"type":"source-url"');
    expect(text).toContain('"providerExecuted":true');
    const [run] = await hub.agentRuns('calculator');
    expect(run).toMatchObject({ turns: 2, toolCalls: 3 });
    expect(JSON.stringify(run)).not.toContain('example.com');
    await hub.stop();
  });

  test('of a delivery that replays its record are shown and collected again', async () => {
    const hub = createHub();
    const { agent, provider } = agentOf([answer]);
    const deliveries: string[][] = [];
    const ask = createWorkflow({
      name: 'ask',
      run: async (ctx) => {
        const shown: string[] = [];
        const stream = agent.stream('x', { hubCtx: ctx });
        for await (const { type } of stream) shown.push(type);
        deliveries.push(shown);
        await ctx.step.waitForEvent('pause', 'resumed');
        const { sources, vendorCalls } = await stream.result;
        return { sources, vendorCalls };
      },
    });
    hub.workflow(ask);
    hub.event({ type: 'resumed' });
    await hub.start();
    const run = await hub.startWorkflow(ask, 'x');
    // Unlike a short sleep, it is never over when the run reaches it.
    await vi.waitFor(async () => expect((await hub.waits()).waits).toHaveLength(1));
    await hub.emit('resumed', {});
    expect(await run.result()).toEqual({ sources: [page, book], vendorCalls: [search, failed] });
    provider.assertDone();
    expect(deliveries.map((shown) => shown.filter((type) => type === 'source').length)).toEqual([3, 3]);
    // A record has a call with its result only.
    expect(deliveries.map((shown) => shown.filter((type) => type === 'vendor-call').length)).toEqual([4, 2]);
    await hub.stop();
  });

  test('are hidden with an answer that afterModel refuses', async () => {
    const { agent } = agentOf([answer, 'Fine.'], {
      afterModel: ({ content }) => (content === 'Fine.' ? undefined : { refuse: 'no' }),
    });
    const types: string[] = [];
    const stream = agent.stream('x');
    for await (const { type } of stream) types.push(type);
    expect(types).not.toContain('source');
    expect(types).not.toContain('vendor-call');
    const { sources, vendorCalls } = await stream.result;
    expect(sources).toBeUndefined();
    // The vendor has run them.
    expect(vendorCalls).toHaveLength(2);
  });

  test('are parts of the answers of asLanguageModel', async () => {
    const provider = scriptedProvider([answer, answer]);
    const model = asLanguageModel(provider, 'm');
    const expected = [
      { type: 'source', sourceType: 'url', url: 'https://example.com/shannon' },
      { type: 'source', sourceType: 'document', filename: 'life.pdf' },
      { type: 'source', sourceType: 'url' },
    ];
    const generated = await generateText({ model, prompt: 'x' });
    expect(generated.sources).toMatchObject(expected);
    expect(generated.toolResults).toMatchObject([
      { toolName: 'web_search', output: { found: 1 }, providerExecuted: true },
    ]);
    const streamed = streamText({ model, prompt: 'x' });
    expect(await streamed.text).toBe('Born in 1916.');
    expect(await streamed.sources).toMatchObject(expected);
    expect(await streamed.toolCalls).toHaveLength(2);
  });

  test.each([
    [{ sources: [{ type: 'url', id: 's' }] }, 'a source with a string for its url'],
    [{ sources: [{ type: 'page', mediaType: 'x' }] }, 'a source of type "url" or "document"'],
    [{ sources: 'x' }, 'sources that are an array'],
    [{ vendorCalls: [{ name: 7 }] }, 'a tool call with a string for its name'],
    [{ vendorCalls: {} }, 'vendorCalls that are an array'],
  ])('of a custom provider are validated: %j', async (more, message) => {
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
    // Such a provider has no types.
    const chat = async () => ({ content: 'x', usage, finishReason: 'stop', ...more });
    const provider = { chat } as unknown as ModelProvider;
    const { error } = await agentOf([], { provider }).agent.run('x');
    expect(error?.message).toContain(message);
  });
});
