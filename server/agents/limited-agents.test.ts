import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import { createLimit } from '../hub/limits/limit.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { createAgent } from './create-agent.js';
import type { ModelProvider } from './model/model-provider.js';
import { createTool } from './tools/tool.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const parameters = { type: 'object', properties: {} };

/** Provider that calls a tool twice in its first turn, and counts the calls that run at once. */
function countingProvider(): ModelProvider & { calls: number; most: number } {
  let running = 0;
  return {
    calls: 0,
    most: 0,
    async chat(messages) {
      this.calls += 1;
      running += 1;
      this.most = Math.max(this.most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (messages.some(({ role }) => role === 'tool')) {
        return { content: 'done', toolCalls: [], usage, finishReason: 'stop' };
      }
      const toolCalls = ['1', '2'].map((id) => ({ id, name: 'fetch', arguments: '{}' }));
      return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
    },
  };
}

/** Agent with limits on its model calls and on its tool. */
function limitedAgent(limit: ReturnType<typeof createLimit>, ofTool: ReturnType<typeof createLimit>) {
  const provider = countingProvider();
  const fetches = { calls: 0, running: 0, most: 0 };
  const fetch = createTool({
    name: 'fetch',
    description: 'fetches',
    parameters,
    limit: () => ofTool,
    async execute() {
      fetches.calls += 1;
      fetches.running += 1;
      fetches.most = Math.max(fetches.most, fetches.running);
      await new Promise((resolve) => setImmediate(resolve));
      fetches.running -= 1;
      return 'x';
    },
  });
  const model = { model: 'm' };
  const agent = createAgent({ name: 'a', systemPrompt: 's', provider, model, tools: [fetch], limit });
  return { agent, provider, fetches };
}

it('an agent that runs without a hub holds its limits within the process', async () => {
  const [one, other] = [1, 2].map(() => createLimit({ name: randomUUID(), concurrency: 1 }));
  if (one === undefined || other === undefined) return;
  const { agent, provider, fetches } = limitedAgent(one, other);
  const results = await Promise.all(['a', 'b', 'c'].map((input) => agent.run(input)));
  expect(results.map(({ status, output }) => [status, output])).toEqual(Array(3).fill(['completed', 'done']));
  expect([provider.calls, provider.most]).toEqual([6, 1]);
  expect([fetches.calls, fetches.most]).toEqual([6, 1]);
});

it('a wait of an agent for its limit ends with the signal', async () => {
  const limit = createLimit({ name: randomUUID(), max: 1, perMs: 3_600_000 });
  const { agent } = limitedAgent(limit, createLimit({ name: randomUUID(), concurrency: 1 }));
  const abort = new AbortController();
  const waiting = agent.run('a', { signal: abort.signal });
  const reason = new Error('enough');
  setImmediate(() => abort.abort(reason));
  await expect(waiting).rejects.toBe(reason);
});

describe.each(everyTransport)('an agent that handles events on the %s transport', (_name, createTransport) => {
  it('suspends its runs until a limit allows the next model call', async () => {
    const limit = createLimit({ name: randomUUID(), max: 3, perMs: 3_600_000 });
    const { agent, provider } = limitedAgent(limit, createLimit({ name: randomUUID(), concurrency: 1 }));
    const hub = createHub({ transport: createTransport() });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    hub.event({ type: 'ask', handler: agent.asHandler() });
    await hub.start();
    for (let i = 0; i < 3; i += 1) await hub.emit('ask', 'hello');
    await vi.waitFor(
      async () => {
        const { active, pending } = await hub.metrics('ask');
        expect([provider.calls, active, pending > 0]).toEqual([3, 0, true]);
      },
      { interval: 20, timeout: 30_000 },
    );
    expect(provider.calls).toBe(3);
  });

  it('runs a tool at most as often at once as its limit allows', async () => {
    const limit = createLimit({ name: randomUUID(), concurrency: 5 });
    const { agent, fetches } = limitedAgent(limit, createLimit({ name: randomUUID(), concurrency: 1 }));
    const hub = createHub({ transport: createTransport() });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    hub.event({ type: 'ask', handler: agent.asHandler() });
    await hub.start();
    for (let i = 0; i < 3; i += 1) await hub.emit('ask', 'hello');
    await vi.waitFor(async () => expect((await hub.metrics('ask')).completed).toBe(3), {
      interval: 20,
      timeout: 30_000,
    });
    expect([fetches.calls, fetches.most]).toEqual([6, 1]);
  });
});
