import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { deferred } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { textsLog } from '../../transports/stored-keys.js';
import type { PublishedAgentEvent } from '../agent/published-events.js';
import { createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createTool } from '../tools/tool.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };

/** Texts of the user and of the model. */
const said = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, content }) => (role === 'user' || role === 'assistant' ? [content] : []));

describe.each(everyTransport)('a text that is sent to a run on the %s transport', (_name, createTransport) => {
  it('is read once by the next turn, from any process and after a crash', async () => {
    const transport = createTransport();
    const web = createHub({ transport, service: 'web' });
    for (const type of ['asked', 'plain']) web.event({ type });
    const hang = deferred();
    const heard: (readonly string[])[] = [];
    const provider: ModelProvider = {
      async chat(messages, { signal }) {
        heard.push(said(messages));
        if (heard.length === 1) {
          return {
            content: '',
            usage,
            finishReason: 'tool_calls',
            toolCalls: [{ id: '', name: 'look', arguments: '' }],
          };
        }
        if (heard.length === 2) await web.send(runId, 'and cheap');
        if (heard.length === 3) {
          hang.resolve();
          await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
        }
        return { content: `answer ${heard.length}`, usage, finishReason: 'stop' };
      },
    };
    const look = createTool({
      name: 'look',
      description: 'Looks',
      parameters: { type: 'object' },
      async execute() {
        for (const text of ['before noon', 'sent again']) await web.send(runId, text, { id: 't-1' });
        return 'seen';
      },
    });
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools: [look] });
    const workers = ['first', 'second'].map(() => {
      const hub = createHub({ transport, service: 'worker' });
      hub.event({ type: 'asked', handler: agent.asHandler() });
      hub.event({ type: 'plain', handler: () => {} });
      return hub;
    });
    onTestFinished(async () => {
      for (const hub of [...workers, web]) await hub.stop({ drainMs: 0 });
    });
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error('no hubs');
    await first.start();
    await web.start();
    await first.pause({ type: 'asked' }, { reason: 'test', by: 'test' });
    const { id: runId } = await web.emit('asked', 'fly', { requestId: 'r-1' });
    await web.send(runId, 'to Oslo');
    await first.resume({ type: 'asked' }, { by: 'test' });
    await hang.promise;
    await first.stop({ drainMs: 0 });
    await second.start();
    await vi.waitFor(async () => expect((await web.metrics('asked')).completed).toBe(1), {
      timeout: 30_000,
      interval: 20,
    });
    const turns = ['fly', 'to Oslo', '', 'before noon', 'answer 2', 'and cheap'];
    expect(heard).toEqual([turns.slice(0, 2), turns.slice(0, 4), turns, turns]);

    await expect(web.send(runId, 'late')).rejects.toMatchObject({ code: 'ERR_RUN_ENDED' });
    await expect(web.send('none', 'x')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_RUN' });
    const plain = await web.emit('plain', 1);
    await vi.waitFor(async () => expect((await web.metrics('plain')).completed).toBe(1), { timeout: 30_000 });
    await expect(web.send(plain.id, 'x')).rejects.toMatchObject({ code: 'ERR_NOT_AGENT_RUN' });
    const log = textsLog('worker', runId);
    expect((await web.transport.log.read(log)).next).toBe(4);
    await web.erase({ requestId: 'r-1' });
    expect((await web.transport.log.read(log)).next).toBe(0);
    expect(JSON.stringify(await web.transport.runs.get('asked', runId, 'worker'))).not.toContain('noon');
  });
});

describe('a text that is sent to a run', () => {
  test('is part of the stream and of the conversation', async () => {
    const hub = createHub();
    const memory = new ConversationMemory({ transport: hub.transport });
    const scripted = scriptedProvider(['one', 'two', 'three']);
    const provider: ModelProvider = {
      async chat(messages, options) {
        if (scripted.calls.length === 0) await hub.send(runId, 'more', { id: 't-1' });
        return scripted.chat(messages, options);
      },
    };
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory });
    const handler = agent.asHandler({ publish: true, conversation: () => 'c' });
    hub.event({ type: 'asked', handler });
    onTestFinished(async () => {
      await hub.stop();
    });
    await hub.start();
    const { id: runId } = await hub.emit('asked', 'hello');
    const events: unknown[] = [];
    for await (const event of hub.stream<PublishedAgentEvent>(runId)) {
      if (event.type === 'data' && event.data.type === 'sent-text') events.push(event.data);
    }
    expect(events).toEqual([{ agent: 'a', type: 'sent-text', turn: 2, id: 't-1', text: 'more' }]);
    await agent.run('next', { conversationId: 'c' });
    expect(said(scripted.calls[2]?.messages ?? [])).toEqual(['hello', 'one', 'more', 'two', 'next']);
  });

  test('is not read by an agent whose answer the workflow has', async () => {
    const hub = createHub();
    const scripted = scriptedProvider(['one', 'two']);
    const agent = createAgent({ name: 'a', systemPrompt: '', provider: scripted, model: { model: 'm' } });
    hub.event({ type: 'go' });
    const flow = createWorkflow({
      name: 'flow',
      run: async (ctx) => {
        const first = await agent.run('x', { hubCtx: ctx });
        await ctx.step.waitForEvent('go', 'go');
        const second = await agent.run('y', { hubCtx: ctx });
        return [first.output, second.output];
      },
    });
    hub.workflow(flow);
    onTestFinished(async () => {
      await hub.stop();
    });
    await hub.start();
    const run = await hub.startWorkflow(flow, {});
    await expect.poll(async () => (await hub.getRun(flow, run.runId)).status).toBe('suspended');
    await hub.send(run.runId, 'more');
    await hub.emit('go', 1);
    expect(await run.result()).toEqual(['one', 'two']);
    expect(scripted.calls.map(({ messages }) => said(messages))).toEqual([['x'], ['y', 'more']]);
  });

  test('is refused if it is wrong, too large, or one too many', async () => {
    const hub = createHub();
    const agent = createAgent({ name: 'a', systemPrompt: '', provider: scriptedProvider([]), model: { model: 'm' } });
    hub.event({ type: 'asked', handler: agent.asHandler() });
    onTestFinished(async () => {
      await hub.stop();
    });
    await hub.start();
    await hub.pause({ type: 'asked' }, { reason: 'test', by: 'test' });
    const { id } = await hub.emit('asked', 'x');
    await expect(hub.send(id, '')).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
    await expect(hub.send(id, '\ud800')).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
    await expect(hub.send(id, 'x'.repeat(20_000))).rejects.toMatchObject({ code: 'ERR_PAYLOAD_TOO_LARGE' });
    for (let n = 0; n < 1_000; n += 1) await hub.send(id, `${n}`);
    await expect(hub.send(id, 'x')).rejects.toMatchObject({ code: 'ERR_BACKPRESSURE' });
  });
});
