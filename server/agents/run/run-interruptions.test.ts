import { describe, expect, test, vi } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { expectWellPaired } from '../memory/well-paired.fixture.js';
import type { Message } from '../model/message.js';
import { ProviderError } from '../model/provider-error.js';
import { add, agentOf, callAdd, memoryOf, usageOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';

describe('retry', () => {
  const unavailable = new ProviderError('busy', { provider: 'p', retryable: true });

  test('repeats a failed call after the delays of the policy', async () => {
    const clock = createFakeClock();
    const { agent, provider } = agentOf([unavailable, unavailable, 'ok'], {
      clock,
      retry: { initialDelayMs: 100, factor: 2, jitter: false },
    });
    const run = agent.run('x');
    await clock.advance(99);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect(provider.calls).toHaveLength(2);
    await clock.advance(200);
    expect(await run).toMatchObject({ status: 'completed', output: 'ok' });
  });

  test('uses the delay that the vendor requests', async () => {
    const clock = createFakeClock();
    const limited = new ProviderError('slow down', { provider: 'p', retryable: true, retryAfterMs: 7000 });
    const { agent, provider } = agentOf([limited, 'ok'], { clock, retry: { initialDelayMs: 1 } });
    const run = agent.run('x');
    await clock.advance(6999);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect((await run).status).toBe('completed');
  });

  test.each([
    ['without a policy', unavailable, undefined, 1],
    ['of what is not retryable', new ProviderError('no', { provider: 'p', retryable: false }), {}, 1],
    ['of what retryIf refuses', unavailable, { retryIf: () => false }, 1],
    ['past maxAttempts', unavailable, { maxAttempts: 2, initialDelayMs: 0 }, 2],
  ])('does not happen %s', async (_, error, retry, attempts) => {
    const { agent, provider } = agentOf([error, error, error], retry === undefined ? {} : { retry });
    expect(await agent.run('x')).toMatchObject({ status: 'failed', error });
    expect(provider.calls).toHaveLength(attempts);
  });

  test('counts the reported tokens of a failed call', async () => {
    const cut = new ProviderError('cut', { provider: 'p', retryable: true, usage: usageOf(100) });
    const { agent } = agentOf([cut, 'ok'], { retry: { initialDelayMs: 0 } });
    expect((await agent.run('x')).tokenUsage.totalTokens).toBe(115);
  });
});

test('an interrupted answer without reported usage costs its estimate', async () => {
  const { agent } = agentOf([{ content: 'x'.repeat(400), finishReason: null, usage: null }]);
  const { status, tokenUsage } = await agent.stream('x').result;
  expect(status).toBe('failed');
  expect(tokenUsage).toMatchObject({ completionTokens: 100, estimated: true });
});

test('an invalid answer costs its estimate', async () => {
  const chat = async () => ({ content: 7 as unknown as string, usage: usageOf(0), finishReason: 'stop' as const });
  const { agent } = agentOf([], { provider: { chat }, retry: { maxAttempts: 3, initialDelayMs: 0 } });
  const once = await agentOf([], { provider: { chat } }).agent.run('x');
  expect(once).toMatchObject({ status: 'failed', error: { name: 'InvalidAnswerError' } });
  expect(once.tokenUsage).toMatchObject({ promptTokens: expect.any(Number), estimated: true });
  expect(once.tokenUsage.totalTokens).toBeGreaterThan(0);
  expect((await agent.run('x')).tokenUsage.totalTokens).toBe(3 * once.tokenUsage.totalTokens);
});

describe('abort', () => {
  test('before the first model call rejects with the reason', async () => {
    const { agent, provider } = agentOf(['ok']);
    const reason = new Error('changed my mind');
    await expect(agent.run('x', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(provider.calls).toHaveLength(0);
  });

  test('while memory hangs rejects without a model call', async () => {
    const controller = new AbortController();
    const memory = memoryOf([]);
    memory.getMessages.mockImplementation(() => new Promise(() => {}));
    const { agent, provider } = agentOf([], { memory });
    const run = agent.run('x', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(provider.calls).toHaveLength(0);
  });

  test('while memory is written prevents the model call', async () => {
    const controller = new AbortController();
    const memory = memoryOf([]);
    memory.addMessage.mockImplementation(async () => controller.abort(new Error('enough')));
    const { agent, provider } = agentOf([], { memory });
    await expect(agent.run('x', { signal: controller.signal })).rejects.toThrow('enough');
    expect(provider.calls).toHaveLength(0);
  });

  test.each([
    ['the input', 0],
    ['the calls', 1],
    ['the results', 2],
    ['the answer', 4],
  ])('while memory hangs on %s rejects, and every call still gets its result later', async (_, index) => {
    const controller = new AbortController();
    const stored: Message[] = [];
    const memory = memoryOf([]);
    let comeBack: () => void = () => {};
    const back = new Promise<void>((resolve) => {
      comeBack = resolve;
    });
    memory.addMessage.mockImplementation(async (_agent, _run, message) => {
      if (memory.addMessage.mock.calls.length > index) await back;
      stored.push(message);
    });
    const { agent } = agentOf([{ toolCalls: [...callAdd(1, 2).toolCalls, ...callAdd(3, 4).toolCalls] }, 'ok'], {
      memory,
    });
    const run = agent.run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(memory.addMessage).toHaveBeenCalledTimes(index + 1));
    controller.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(stored).toHaveLength(index);
    comeBack();
    const whole = { 0: 1, 1: 4, 2: 4, 4: 5 }[index];
    await vi.waitFor(() => expect(stored).toHaveLength(whole ?? 0));
    expectWellPaired(stored);
  });

  test('logs messages that memory failed to store after it', async () => {
    const controller = new AbortController();
    const { hub, clock, log } = testHub();
    const memory = memoryOf([]);
    let fail: (error: Error) => void = () => {};
    memory.addMessage.mockImplementation(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    const { agent } = agentOf([], { memory });
    hub.event({ type: 'x', handler: (ctx) => agent.run('x', { hubCtx: ctx, signal: controller.signal }) });
    await hub.start();
    await hub.emit('x', null);
    await clock.settle();
    controller.abort();
    await clock.settle();
    expect(log.map(({ message }) => message)).toEqual(['event failed']);
    fail(new Error('store is down'));
    await clock.settle();
    expect(log.at(-1)?.message).toContain('failed to store the end of run');
  });

  test('rejects while a provider hangs that receives the signal and ignores it', async () => {
    const controller = new AbortController();
    const chat = vi.fn(() => new Promise<never>(() => {}));
    const { agent } = agentOf([], { provider: { chat } });
    const run = agent.run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(chat).toHaveBeenCalled());
    controller.abort('enough');
    await expect(run).rejects.toBe('enough');
    expect(chat.mock.lastCall).toMatchObject([expect.anything(), { signal: controller.signal }]);
  });

  test('rejects while a retry waits, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const { agent } = agentOf([new Error('down')], { clock, retry: { initialDelayMs: 1000 } });
    const run = agent.run('x', { signal: controller.signal });
    await clock.settle();
    expect(clock.pendingTimers).toBe(1);
    controller.abort('enough');
    await expect(run).rejects.toBe('enough');
    expect(clock.pendingTimers).toBe(0);
  });

  test('is observed by many parallel calls without a warning about a leak', async () => {
    const warned = vi.fn();
    process.on('warning', warned);
    const calls = Array.from({ length: 20 }, (_, index) => ({ name: 'add', arguments: { a: index, b: 1 } }));
    const { agent } = agentOf([{ toolCalls: calls }, 'ok'], { tools: [{ ...add, timeoutMs: 1000 }] });
    await agent.run('x', { signal: new AbortController().signal });
    // Node emits warnings on the next tick.
    await new Promise<void>((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });

  test('reaches tools, does not wait for those that ignore it, and stores a result per call', async () => {
    const controller = new AbortController();
    const memory = memoryOf([]);
    const seen: AbortSignal[] = [];
    const hang = createTool({
      ...add,
      execute: (_input: unknown, ctx) => {
        seen.push(ctx.signal);
        return new Promise<never>(() => {});
      },
    });
    const { agent } = agentOf([{ toolCalls: [...callAdd(1, 2).toolCalls, ...callAdd(3, 4).toolCalls] }], {
      memory,
      tools: [hang],
    });
    const run = agent.run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    controller.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(seen.every(({ aborted }) => aborted)).toBe(true);
    const stored = memory.addMessage.mock.calls.map(([, , message]) => message);
    expect(stored.slice(2)).toEqual([
      { role: 'tool', toolCallId: 'call_1', content: 'Error: enough' },
      { role: 'tool', toolCallId: 'call_2', content: 'Error: enough' },
    ]);
  });
});
