import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { generateText, type ModelMessage, stepCountIs, streamText, ToolLoopAgent, tool } from 'ai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createHub } from '../../hub/create-hub.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { deferred } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createLimit } from '../../hub/limits/limit.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { ProviderError } from '../model/provider-error.js';
import { asLanguageModel } from './as-language-model.js';
import { type DurableModelOptions, durableModel } from './durable-model.js';
import { durableTools, toolCallOf } from './durable-tools.js';
import { durableHandler } from './recorded-calls.js';

const call = (name: string, args: unknown = {}) => ({ toolCalls: [{ name, arguments: args }] });
const idle = (): Promise<never> => new Promise(() => {});
const prices = { m: { input: 1, output: 1 } };

function modelOf(script: readonly ScriptEntry[]) {
  const provider = scriptedProvider(script);
  return { provider, model: asLanguageModel(provider, 'm') };
}

async function startHub(transport: Transport, register: (hub: Hub) => void): Promise<Hub> {
  const hub = createHub({ transport, logger: false });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  register(hub);
  await hub.start();
  return hub;
}

type Planner = (ctx: RunCtx | HandlerCtx, settings: Parameters<typeof generateText>[0]) => Promise<unknown>;

const planners: Record<string, Planner> = {
  async generateText(_ctx, settings) {
    const { text, totalUsage } = await generateText({ ...settings, stopWhen: stepCountIs(5) });
    return { text, tokens: totalUsage.totalTokens };
  },
  async streamText(_ctx, { model, tools = {} }) {
    const stream = streamText({ model, tools, prompt: 'Plan', stopWhen: stepCountIs(5) });
    return { text: await stream.text, tokens: (await stream.totalUsage).totalTokens };
  },
  async ToolLoopAgent(_ctx, { model, tools = {} }) {
    const { text, totalUsage } = await new ToolLoopAgent({ model, tools }).generate({ prompt: 'Plan' });
    return { text, tokens: totalUsage.totalTokens };
  },
};

describe.each(everyTransport)('on the %s transport', (_name, createTransport) => {
  it.each(Object.entries(planners))(
    '%s continues where another process stopped, and pays nothing twice',
    async (_of, plan) => {
      const { provider, model } = modelOf([
        call('look'),
        { toolCalls: [{ name: 'book' }, { name: 'look' }] },
        'Booked.',
      ]);
      const reached = deferred();
      const looks: unknown[] = [];
      const keys: string[] = [];
      const told = vi.fn();
      const register = (isStuck: boolean) => (hub: Hub) => {
        hub.event<string>({ type: 'booked', handler: ({ payload }) => void told(payload) });
        const run = async (ctx: RunCtx): Promise<unknown> => {
          const tools = durableTools(
            {
              look: tool({
                inputSchema: z.object({}),
                execute: async () => {
                  looks.push(1);
                  return { at: new Date(0), bytes: new Uint8Array([1]), url: new URL('http://a.example/') };
                },
              }),
              book: tool({
                inputSchema: z.object({}),
                execute: async (_input, options) => {
                  const { callKey, emit } = toolCallOf(options);
                  keys.push(callKey);
                  if (isStuck) reached.resolve();
                  if (isStuck) return idle();
                  await emit('booked', callKey);
                  return 'booked';
                },
              }),
            },
            ctx,
          );
          return plan(ctx, { model: durableModel(model, ctx, { name: 'planner', prices }), tools, prompt: 'Plan' });
        };
        hub.workflow(createWorkflow({ name: 'plan', run }));
      };
      const transport = createTransport();
      const first = await startHub(transport, register(true));
      const { runId } = await first.startWorkflow('plan', {});
      await reached.promise;
      const steps = async () => (await first.getRun('plan', runId))?.steps;
      await vi.waitFor(async () => expect(await steps()).toHaveLength(4));
      await first.stop({ drainMs: 0 });
      const second = await startHub(transport, register(false));
      await expect(second.workflowHandle('plan', runId).result()).resolves.toEqual({ text: 'Booked.', tokens: 45 });
      provider.assertDone();
      expect(looks).toHaveLength(2);
      expect(keys).toEqual([keys[0], keys[0]]);
      await vi.waitFor(() => expect(told).toHaveBeenCalledExactlyOnceWith(keys[0]));
      const run = await second.getRun('plan', runId);
      const sorted = run?.steps.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const turns = sorted?.map(({ name, kind, turn }) => [name, kind, turn?.usage?.cost]);
      expect(turns).toEqual([
        ['planner / turn 1', 'model', 0.000_015],
        ['planner / turn 1 / look', 'tool', undefined],
        ['planner / turn 2', 'model', 0.000_015],
        ['planner / turn 2 / book', 'tool', undefined],
        ['planner / turn 2 / look', 'tool', undefined],
        ['planner / turn 3', 'model', 0.000_015],
      ]);
    },
  );

  it('a durable handler repeats no recorded call when the event is retried', async () => {
    const { provider, model } = modelOf([call('look'), 'found', 'checked']);
    const look = vi.fn(async () => 'here');
    const answered = vi.fn();
    const asked = await startHub(createTransport(), (hub) => {
      hub.event<string>({
        type: 'asked',
        onSuccess: 'answered',
        retry: { initialDelayMs: 1 },
        handler: durableHandler(async (ctx) => {
          const tools = durableTools({ look: tool({ inputSchema: z.object({}), execute: look }) }, ctx);
          const prompt = String(ctx.payload);
          const first = await generateText({
            model: durableModel(model, ctx),
            tools,
            prompt,
            stopWhen: stepCountIs(3),
          });
          if (ctx.attempt === 1) throw new Error('interrupted');
          const second = await generateText({ model: durableModel(model, ctx), prompt: first.text });
          return `${first.text}, ${second.text}`;
        }),
      });
      hub.event<string>({ type: 'answered', handler: ({ payload }) => void answered(payload) });
    });
    await asked.emit('asked', 'where?');
    await vi.waitFor(() => expect(answered).toHaveBeenCalledExactlyOnceWith('found, checked'));
    provider.assertDone();
    expect(look).toHaveBeenCalledOnce();
  });
});

/** Runs a workflow's function once, or as often as it takes. */
async function runOf<T>(run: (ctx: RunCtx) => T, transport: Transport = memoryTransport()) {
  const hub = await startHub(transport, (own) => {
    own.workflow(createWorkflow({ name: 'w', run }));
    own.event({ type: 'go' });
  });
  const { runId } = await hub.startWorkflow('w', {});
  return { hub, runId, result: () => hub.workflowHandle('w', runId).result() };
}

const say = (text: string): ModelMessage => ({ role: 'user', content: text });

describe('a durable model', () => {
  it.each([
    ['continues under another system prompt', 'hello', 'text'],
    ['refuses the answer to other messages', 'goodbye', 'fails'],
  ])('%s', async (_of, message, expected) => {
    const { provider, model } = modelOf(['hi']);
    let deliveries = 0;
    const { hub, result } = await runOf(async (ctx) => {
      deliveries += 1;
      const system = `delivery ${deliveries}`;
      const messages = [say(deliveries === 1 ? 'hello' : message)];
      const { text } = await generateText({ model: durableModel(model, ctx), system, messages });
      await ctx.step.waitForEvent('wait', 'go');
      return text;
    });
    await vi.waitFor(async () => expect((await hub.waits()).waits).toHaveLength(1));
    await hub.emit('go', {});
    if (expected === 'text') await expect(result()).resolves.toBe('hi');
    else await expect(result()).rejects.toThrow(/recorded the answer "m \/ turn 1".*other messages.*step\.patched/);
    provider.assertDone();
  });

  it('retries a failure within the call, and records the one that persists', async () => {
    const overloaded = new ProviderError('overloaded', { provider: 'p', retryable: true, statusCode: 529 });
    const wrong = new ProviderError('wrong', { provider: 'p', retryable: false, statusCode: 400 });
    const { provider, model } = modelOf([overloaded, 'hi', wrong]);
    const retry = { maxAttempts: 2, initialDelayMs: 1 };
    const { hub, runId, result } = await runOf(async (ctx) => {
      const own = durableModel(model, ctx, { retry });
      const { text } = await generateText({ model: own, prompt: 'a' });
      const error: unknown = await generateText({ model: own, prompt: 'b' }).catch((thrown: unknown) => thrown);
      await ctx.step.sleep('pause', 1);
      return `${text}: ${error instanceof Error ? error.message : ''}`;
    });
    await expect(result()).resolves.toMatch(/^hi: step "m \/ turn 2" failed.*ProviderError: p answered 400/);
    provider.assertDone();
    const run = await hub.getRun('w', runId);
    expect(run?.steps.map(({ name, status, error }) => [name, status, error?.code])).toEqual([
      ['m / turn 1', 'completed', undefined],
      ['m / turn 2', 'failed', 'ERR_PROVIDER'],
      ['pause', 'completed', undefined],
    ]);
  });

  it('ends at its budget, over all deliveries', async () => {
    const { provider, model } = modelOf(['one', 'two']);
    const { hub, result } = await runOf(async (ctx) => {
      const own = durableModel(model, ctx, { name: 'planner', tokenBudget: 32 });
      await generateText({ model: own, prompt: 'a' });
      await ctx.step.waitForEvent('wait', 'go');
      await generateText({ model: own, prompt: 'b' });
      return generateText({ model: own, prompt: 'c' }).then(({ text }) => text);
    });
    await vi.waitFor(async () => expect((await hub.waits()).waits).toHaveLength(1));
    await hub.emit('go', {});
    await expect(result()).rejects.toThrow('the tokenBudget of model "planner" does not cover its next call');
    provider.assertDone();
    expect(provider.calls[1]?.options.maxTokens).toBe(17);
    const { agents } = await hub.introspect();
    expect(agents).toContainEqual(expect.objectContaining({ name: 'planner', model: 'm' }));
  });

  it('takes permits of a limit, and suspends the run without one', async () => {
    const { model } = modelOf(['one', 'two']);
    const limit = createLimit({ name: 'model', max: 1, perMs: 3_600_000 });
    const { hub } = await runOf(async (ctx) => {
      const own = durableModel(model, ctx, { limit });
      await generateText({ model: own, prompt: 'a' });
      await generateText({ model: own, prompt: 'b' });
    });
    await vi.waitFor(async () => {
      const { workflows } = await hub.introspect();
      expect(workflows[0]?.metrics).toMatchObject({ pending: 1, active: 0 });
      expect(workflows[0]?.metrics.delayed).toBe(1);
    });
  });

  it('streams an answer while it arrives, and a call of a tool when the answer is recorded', async () => {
    const [seen, finish] = [deferred(), deferred()];
    let requests = 0;
    const parts = async function* (): AsyncGenerator<LanguageModelV3StreamPart> {
      requests += 1;
      yield { type: 'stream-start', warnings: [] };
      yield { type: 'text-start', id: '1' };
      yield { type: 'text-delta', id: '1', delta: 'one ' };
      yield { type: 'text-delta', id: '1', delta: 'two' };
      yield { type: 'text-end', id: '1' };
      yield { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' };
      await finish.promise;
      const inputTokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
      const usage = { inputTokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };
      yield { type: 'finish', usage, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } };
    };
    const { model } = modelOf([]);
    const streamed = { ...model, doStream: async () => ({ stream: ReadableStream.from(parts()) }) };
    const look = vi.fn(async () => 'here');
    const read: string[][] = [];
    const { hub, result } = await runOf(async (ctx) => {
      const tools = durableTools({ look: tool({ inputSchema: z.object({}), execute: look }) }, ctx);
      const deltas: string[] = [];
      read.push(deltas);
      const stream = streamText({ model: durableModel(streamed, ctx), tools, prompt: 'a' });
      for await (const delta of stream.textStream) {
        deltas.push(delta);
        if (deltas.join('') === 'one two') seen.resolve();
      }
      await ctx.step.waitForEvent('wait', 'go');
      return (await stream.toolResults).map(({ output }) => output);
    });
    await seen.promise;
    expect(look).not.toHaveBeenCalled();
    finish.resolve();
    await vi.waitFor(async () => expect((await hub.waits()).waits).toHaveLength(1));
    await hub.emit('go', {});
    await expect(result()).resolves.toEqual(['here']);
    expect([requests, look.mock.calls.length]).toEqual([1, 1]);
    expect(read).toEqual([['one ', 'two'], ['one two']]);
  });

  it('requests a stream again that was cut before its first text', async () => {
    const { provider, model } = modelOf([{ finishReason: null }, 'whole']);
    const retry = { maxAttempts: 2, initialDelayMs: 1 };
    const { result } = await runOf(
      async (ctx) => streamText({ model: durableModel(model, ctx, { retry }), prompt: 'a' }).text,
    );
    await expect(result()).resolves.toBe('whole');
    provider.assertDone();
  });

  const contexts: Record<string, (use: (ctx: HandlerCtx) => void) => (hub: Hub) => Promise<unknown>> = {
    'a plain handler': (use) => async (hub) => {
      hub.event({ type: 'plain', handler: (ctx) => use(ctx) });
      await hub.start();
      await hub.emit('plain', {});
    },
    'a plain step': (use) => async (hub) => {
      hub.workflow(createWorkflow({ name: 'w', run: ({ step }) => step.run('s', use) }));
      await hub.start();
      await hub.startWorkflow('w', {});
    },
  };
  it.each(Object.entries(contexts))('refuses the context of %s, in which nothing is recorded', async (_of, start) => {
    const { model } = modelOf([]);
    const refused = deferred<unknown>();
    const hub = createHub({ logger: false });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    await start((ctx) => {
      try {
        durableModel(model, ctx);
      } catch (error) {
        refused.resolve(error);
      }
    })(hub);
    expect(String(await refused.promise)).toContain('that of a handler in durableHandler');
  });

  it('records its calls inside a step', async () => {
    const { provider, model } = modelOf(['one', 'two']);
    const { hub, runId, result } = await runOf(async ({ step }) =>
      step.run(
        'answer',
        durableHandler(async (ctx) => {
          const { text } = await generateText({ model: durableModel(model, ctx), prompt: 'a' });
          if (ctx.attempt === 1) throw new Error('again');
          return text + (await generateText({ model: durableModel(model, ctx), prompt: text })).text;
        }),
        { retry: { initialDelayMs: 1 } },
      ),
    );
    await expect(result()).resolves.toBe('onetwo');
    provider.assertDone();
    const run = await hub.getRun('w', runId);
    const names = run?.steps.map(({ name }) => name).sort();
    expect(names).toEqual(['answer', 'answer / m / turn 1', 'answer / m#2 / turn 1']);
  });

  it.each<[DurableModelOptions & Record<string, unknown>, string]>([
    [{ tokenBudget: 0 }, 'tokenBudget of durableModel'],
    [{ costBudget: 1 }, 'prices of durableModel'],
    [{ temperature: 1 }, 'option of durableModel'],
  ])('refuses %j', async (options, message) => {
    const { model } = modelOf([]);
    const { result } = await runOf(async (ctx) => void durableModel(model, ctx, options));
    await expect(result()).rejects.toThrow(message);
  });
});

describe('durable tools', () => {
  it('do not repeat an interrupted call that must not be repeated', async () => {
    const { provider, model } = modelOf([call('charge'), ({ messages }) => messages.at(-1)?.content ?? '']);
    const reached = deferred();
    let charges = 0;
    const run = async (ctx: RunCtx): Promise<string> => {
      const charge = tool({
        inputSchema: z.object({}),
        execute: (): Promise<string> => {
          charges += 1;
          reached.resolve();
          return idle();
        },
      });
      const tools = durableTools({ charge }, ctx, { charge: { retryable: false } });
      const { text } = await generateText({
        model: durableModel(model, ctx),
        tools,
        prompt: 'a',
        stopWhen: stepCountIs(3),
      });
      return text;
    };
    const transport = memoryTransport();
    const { hub, runId } = await runOf(run, transport);
    await reached.promise;
    await hub.stop({ drainMs: 0 });
    const second = await startHub(transport, (own) => own.workflow(createWorkflow({ name: 'w', run })));
    const text = await second.workflowHandle('w', runId).result();
    expect(text).toContain('the call of tool "charge" was interrupted: it may or may not have been executed');
    expect(charges).toBe(1);
    provider.assertDone();
  });

  it('record errors, which emit nothing, and the last value of an execute that yields', async () => {
    const { provider, model } = modelOf([
      { toolCalls: [{ name: 'fail' }, { name: 'count' }, { name: 'loop' }] },
      ({ messages }) => messages.flatMap(({ role, content }) => (role === 'tool' ? content : [])).join('; '),
    ]);
    const executed: string[] = [];
    const { hub, result } = await runOf(async (ctx) => {
      const inputSchema = z.object({});
      const tools = durableTools(
        {
          fail: tool({
            inputSchema,
            execute: async (_input, options): Promise<string> => {
              executed.push('fail');
              await toolCallOf(options).emit('go', {});
              throw new TypeError('no seat');
            },
          }),
          count: tool({
            inputSchema,
            async *execute() {
              executed.push('count');
              yield 1;
              yield 2;
            },
          }),
          loop: tool({
            inputSchema,
            execute: async () => {
              const loop: { self?: unknown } = {};
              loop.self = loop;
              return loop;
            },
          }),
        },
        ctx,
      );
      const { text } = await generateText({
        model: durableModel(model, ctx),
        tools,
        prompt: 'a',
        stopWhen: stepCountIs(3),
      });
      await ctx.step.sleep('pause', 1);
      return text;
    });
    await expect(result()).resolves.toMatch(
      /^Error: no seat; 2; Error: the result of "loop" cannot be converted to JSON/,
    );
    expect(executed).toEqual(['fail', 'count']);
    expect((await hub.metrics('go')).received).toBe(0);
    provider.assertDone();
  });

  it('are known to toolCallOf alone', () => {
    expect(() => toolCallOf({ toolCallId: 'c' })).toThrow('options of toolCallOf');
  });
});
