import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import { deferred } from '../hub/hub.fixture.js';
import type { SpendLimit } from '../hub/limits/spend-limit.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { createFakeClock } from '../testing/fake-clock.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { type AgentConfig, createAgent } from './create-agent.js';
import type { ModelProvider } from './model/model-provider.js';
import { createAgentRegistry } from './multi-agent/delegation.js';

const hourMs = 3_600_000;
const usage = { promptTokens: 5, completionTokens: 10, totalTokens: 15 };
/** A call with the input `'x'` reserves what it spends: 5 tokens of its prompt, and 10 of its answer. */
const model = { model: 'm', maxTokens: 10 };

/** Provider whose calls take a turn of the event loop. */
function provider(): ModelProvider & { calls: number } {
  return {
    calls: 0,
    async chat() {
      this.calls += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return { content: 'ok', usage, finishReason: 'stop' };
    },
  };
}

function agentOf(spendLimits: readonly SpendLimit[], config: Partial<AgentConfig> = {}) {
  const own = provider();
  const agent = createAgent({ name: randomUUID(), systemPrompt: '', provider: own, model, spendLimits, ...config });
  return { agent, provider: own };
}

const tokens = (max: number, more: Partial<SpendLimit> = {}): SpendLimit => ({
  max,
  perMs: hourMs,
  unit: 'tokens',
  ...more,
});

describe.each(everyTransport)('spending limits on the %s transport', (_name, createTransport) => {
  it('hold per key, over all processes and however many calls run at once', async () => {
    const transport = createTransport();
    const key = (payload: unknown): string => String(Reflect.get(Object(payload), 'tenant'));
    const { agent, provider } = agentOf([tokens(100, { key })]);
    const [first, second] = ['one', 'one'].map((service) => createHub({ transport, service }));
    if (first === undefined || second === undefined) throw new Error('no hubs');
    for (const hub of [first, second]) {
      hub.event({ type: 'asked', handler: agent.asHandler({ input: () => 'x' }) });
      await hub.start();
      onTestFinished(async () => {
        await hub.stop({ drainMs: 0 });
      });
    }
    const tenants = ['acme', 'umbrella'];
    await Promise.all(
      tenants.flatMap((tenant) =>
        Array.from({ length: 10 }, (_, n) => [first, second][n % 2]?.emit('asked', { tenant })),
      ),
    );
    const ended = async () => {
      const { completed, failed } = await first.metrics('asked');
      return { completed, failed };
    };
    // 90 of 100 tokens are spent by six calls: the seventh does not fit, whoever makes it.
    await vi.waitFor(async () => expect(await ended()).toEqual({ completed: 12, failed: 8 }), {
      timeout: 30_000,
      interval: 20,
    });
    expect(provider.calls).toBe(12);
    for (const key of tenants) {
      expect(await second.spend({ agent: agent.name, key })).toEqual([
        { agent: agent.name, unit: 'tokens', max: 100, perMs: hourMs, key, spent: 90, reserved: 0, left: 10 },
      ]);
    }
    expect(await first.spend()).toEqual([]);
  });
});

describe('an agent with spending limits', () => {
  test('says which of its limits ended the run, and what is left of none', async () => {
    const { agent } = agentOf([tokens(1_000), tokens(20, { perMs: 60_000 })]);
    await agent.run('x');
    const { status, spendLimit } = await agent.run('x');
    expect([status, spendLimit]).toEqual([
      'token_budget_exceeded',
      {
        agent: agent.name,
        max: 20,
        perMs: 60_000,
        unit: 'tokens',
        retryAfterMs: expect.any(Number),
      },
    ]);
  });

  test('waits while only reservations stand in the way', async () => {
    const [begun, answered] = [deferred(), deferred()];
    let calls = 0;
    const slow: ModelProvider = {
      async chat() {
        calls += 1;
        begun.resolve();
        await answered.promise;
        return { content: 'ok', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 }, finishReason: 'stop' };
      },
    };
    const { agent } = agentOf([tokens(20)], { provider: slow });
    const first = agent.run('x');
    await begun.promise;
    const second = agent.run('x');
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(1);
    answered.resolve();
    expect([(await first).status, (await second).status, calls]).toEqual(['completed', 'completed', 2]);
  });

  test('stops to wait when its signal aborts', async () => {
    const { agent } = agentOf([tokens(20)], { provider: { chat: () => new Promise(() => {}) } });
    const [first, second] = [new AbortController(), new AbortController()];
    const runs = [agent.run('x', { signal: first.signal }), agent.run('x', { signal: second.signal })];
    second.abort(new Error('enough'));
    await expect(runs[1]).rejects.toThrow('enough');
    first.abort(new Error('enough'));
    await expect(runs[0]).rejects.toThrow('enough');
  });

  test('limits cost, and counts a call without a report as reserved', async () => {
    const unreported = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    const silent = scriptedProvider([{ content: 'ok', usage: unreported }, 'x']);
    const prices = { m: { input: 1_000_000, output: 1_000_000 } };
    const { agent } = agentOf([tokens(29, { unit: 'cost' })], { provider: silent, prices });
    await agent.run('x');
    expect((await agent.run('x')).spendLimit).toMatchObject({ unit: 'cost', max: 29 });
    expect(silent.calls.length).toBe(1);
  });

  test('counts what its delegates spend, which have limits of their own', async () => {
    const registry = createAgentRegistry();
    const { agent: delegate } = agentOf([tokens(1_000)]);
    registry.register(delegate);
    const asking = scriptedProvider([
      { toolCalls: [{ name: 'delegate', arguments: { agentName: delegate.name, input: 'x' } }], usage },
      { content: 'ok', usage },
    ]);
    const { agent } = agentOf([tokens(10_000)], { provider: asking, registry });
    const hub = createHub();
    hub.event({ type: 'asked', handler: agent.asHandler() });
    await hub.start();
    await hub.emit('asked', 'x');
    await expect.poll(async () => (await hub.metrics('asked')).completed).toBe(1);
    const spent = async (name: string) => (await hub.spend({ agent: name })).map((limit) => limit.spent);
    expect([await spent(agent.name), await spent(delegate.name)]).toEqual([[45], [15]]);
    await hub.stop();
  });

  test('lets an event wait until the window has room', async () => {
    const clock = createFakeClock();
    const hub = createHub({ transport: memoryTransport({ clock }) });
    const { agent, provider } = agentOf([tokens(20)], { clock });
    hub.event({ type: 'asked', handler: agent.asHandler(), retry: { maxAttempts: 2 } });
    await hub.start();
    await hub.emit('asked', 'x');
    await expect.poll(async () => (await hub.metrics('asked')).completed).toBe(1);
    await hub.emit('asked', 'x');
    await expect.poll(async () => (await hub.metrics('asked')).retried).toBe(1);
    await clock.advance(hourMs + 1);
    await expect.poll(async () => (await hub.metrics('asked')).completed).toBe(2);
    expect(provider.calls).toBe(2);
    await hub.stop();
  });

  test('fails an event for good whose call exceeds the limit by itself', async () => {
    const hub = createHub();
    const { agent } = agentOf([tokens(10)]);
    hub.event({ type: 'asked', handler: agent.asHandler(), retry: { maxAttempts: 5 } });
    await hub.start();
    await hub.emit('asked', 'x');
    await expect.poll(async () => (await hub.metrics('asked')).failed).toBe(1);
    const [failure] = await hub.failures('asked');
    await hub.stop();
    expect([failure?.attempt, failure?.message]).toEqual([1, expect.stringContaining(': spendLimits of agent')]);
  });

  test('makes no call that it cannot reserve', async () => {
    const hub = createHub();
    const { agent, provider } = agentOf([tokens(100)]);
    hub.event({ type: 'asked', handler: agent.asHandler() });
    await hub.start();
    const { kv } = hub.transport;
    const change = kv.compareAndSet.bind(kv);
    const isRefused = (key: string): boolean => key.startsWith('hubline:spend');
    vi.spyOn(kv, 'compareAndSet').mockImplementation((key, ...rest) =>
      isRefused(key) ? Promise.reject(new Error('unavailable')) : change(key, ...rest),
    );
    await hub.emit('asked', 'x');
    await expect.poll(async () => (await hub.metrics('asked')).failed).toBe(1);
    expect(provider.calls).toBe(0);
    await hub.stop();
  });

  test('is limited in a workflow as the record says', async () => {
    const transport = memoryTransport();
    const { agent } = agentOf([tokens(10)]);
    const limits: unknown[] = [];
    const gate = deferred();
    const register = () => {
      const hub = createHub({ transport });
      hub.workflow(
        createWorkflow({
          name: 'w',
          run: async (ctx) => {
            const { budget, spendLimit } = await agent.run('x', { hubCtx: ctx });
            limits.push({ budget, spendLimit });
            await ctx.step.run('wait', () => gate.promise);
          },
        }),
      );
      return hub;
    };
    const first = register();
    await first.start();
    const { runId } = await first.startWorkflow('w', {});
    await expect.poll(() => limits.length).toBe(1);
    await first.stop({ drainMs: 0 });
    const second = register();
    await second.start();
    gate.resolve();
    await second.workflowHandle('w', runId).result();
    await second.stop();
    expect(limits[1]).toEqual(limits[0]);
    expect(limits[0]).toMatchObject({ budget: 'spendLimits', spendLimit: { max: 10 } });
  });

  test.each<[unknown, string]>([
    [[{ max: 0, perMs: 1, unit: 'tokens' }], 'spendLimits[0].max of agent "a" must be a number above 0, got 0'],
    [[{ max: 1, perMs: 1, unit: 'euros' }], 'spendLimits[0].unit of agent "a" must be "tokens" or "cost", got "euros"'],
    [[{ max: 1, perMs: 1, unit: 'cost' }], 'prices of agent "a" must be set for "m"'],
    [{}, 'spendLimits of agent "a" must be an array'],
  ])('refuses %j', (spendLimits, message) => {
    const config = { name: 'a', systemPrompt: '', provider: provider(), model, spendLimits } as AgentConfig;
    expect(() => createAgent(config)).toThrow(message);
  });

  test('refuses a key that no store can hold', async () => {
    const { agent } = agentOf([tokens(10, { key: () => '' })]);
    await expect(agent.run('x')).rejects.toThrow('the result of key of a spending limit of agent');
  });
});
