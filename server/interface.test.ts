import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { ToolExecutor } from './agents/tools/tool-executor.js';
import { ToolRegistry } from './agents/tools/tool-registry.js';
import {
  type Agent,
  type AgentConfig,
  type AgentContext,
  type AgentMemory,
  type AgentRegistry,
  type AgentRunOptions,
  type AgentRunResult,
  type AgentStep,
  AlphaProvider,
  BetaProvider,
  ConversationMemory,
  createAgent,
  createAgentRegistry,
  createDashboardHandler,
  createDebate,
  createHub,
  createPipeline,
  createTool,
  type DashboardOptions,
  type DebateConfig,
  type DebateContribution,
  type DebateResult,
  type DebateRound,
  GammaProvider,
  getDashboardHtml,
  type HandlerCtx,
  type HandlerFunction,
  type Hub,
  type HubWorkflow,
  type Message,
  type MessageRole,
  type ModelOptions,
  type ModelProvider,
  type ModelResponse,
  type ModelStreamChunk,
  type PipelineConfig,
  type RetryConfig,
  type TokenUsage,
  type Tool,
  type ToolCall,
  type ToolDefinition,
  type ToolResult,
  type TransportManager,
} from './index.js';

// Every name, signature, field and option of the public interface, written down as users without the documentation
// would write them. Types are checked by the compiler, behaviour by the tests.

const usage: TokenUsage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 };
const answer = (content: string, toolCalls: ToolCall[] = []): ModelResponse => ({
  content,
  usage,
  finishReason: toolCalls.length === 0 ? 'stop' : 'tool_calls',
  ...(toolCalls.length > 0 && { toolCalls }),
});

/** A provider of the user's own. */
class ListProvider implements ModelProvider {
  readonly asked: { messages: Message[]; options: ModelOptions }[] = [];
  readonly #answers: ModelResponse[];

  constructor(...answers: ModelResponse[]) {
    this.#answers = answers;
  }

  async chat(messages: Message[], options: ModelOptions): Promise<ModelResponse> {
    this.asked.push({ messages: [...messages], options });
    const next = this.#answers.shift();
    if (next === undefined) throw new Error('no further answer');
    return next;
  }

  async *chatStream(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk> {
    const { content, usage: spent, finishReason } = await this.chat(messages, options);
    yield { content };
    yield { usage: spent, finishReason };
  }
}

/** Exactly the members of `Agent`. */
class EchoAgent implements Agent {
  readonly name: string;
  readonly description: string | undefined;
  readonly options: (AgentRunOptions | undefined)[] = [];

  constructor(name: string, description?: string) {
    this.name = name;
    this.description = description;
  }

  async run(input: string, options?: AgentRunOptions): Promise<AgentRunResult> {
    this.options.push(options);
    const requestId: string | undefined = options?.requestId;
    const hubCtx: HandlerCtx | undefined = options?.hubCtx;
    const payload: unknown = options?.payload;
    return {
      agentName: this.name,
      runId: requestId ?? hubCtx?.eventId ?? `run of ${String(payload)}`,
      output: `${this.name} heard ${input.length} characters`,
      messages: [{ role: 'user', content: input }],
      toolCalls: [],
      tokenUsage: usage,
      status: 'completed',
    };
  }

  asHandler(): HandlerFunction {
    return (ctx) => this.run(String(ctx.payload), { hubCtx: ctx });
  }
}

class BrokenAgent extends EchoAgent {
  override run(): Promise<AgentRunResult> {
    return Promise.reject(new TypeError('not an answer'));
  }
}

const model: ModelOptions = { model: 'm' };
const modelAgent = (name: string, provider: ModelProvider, config: Partial<AgentConfig> = {}): Agent =>
  createAgent({ name, systemPrompt: 'You answer.', provider, model, ...config });

function startedHub(): Hub {
  const hub = createHub();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return hub;
}

/** Starts the hub, emits an event, and returns the payload of the `ok` that follows. */
async function resultOf(hub: Hub, type: string, payload: unknown): Promise<unknown> {
  const received = new Promise<unknown>((resolve) => {
    hub.event({ type: 'ok', handler: (ctx) => resolve(ctx.payload) });
  });
  await hub.start();
  await hub.emit(type, payload);
  return received;
}

describe('tools', () => {
  interface City {
    city: string;
  }

  /** A tool as an instance: its name comes from a getter of its prototype. */
  class Weather implements Tool<City, number> {
    readonly parameters: Record<string, unknown> = { type: 'object', required: ['city'] };
    readonly #celsius = 21;

    get name(): string {
      return 'weather';
    }

    get description(): string {
      return 'Current weather';
    }

    async execute({ city }: City, ctx: AgentContext): Promise<number> {
      return city.length + ctx.runId.length * 0 + this.#celsius;
    }
  }

  test('createTool returns the tool that it was passed', async () => {
    const instance = new Weather();
    const tool: Tool<City, number> = createTool<City, number>(instance);
    expect(tool).toBe(instance);
    const literal: Tool<City, number> = {
      name: 'literal',
      description: '',
      parameters: {},
      execute: async ({ city }) => city.length,
    };
    expect(createTool(literal)).toBe(literal);
    expectTypeOf(createTool(literal)).toEqualTypeOf<Tool<City, number>>();
  });

  const calls = (...names: string[]): ToolCall[] =>
    names.map((name, index) => ({ id: `c${index}`, name, arguments: '{"city":"Oslo"}' }));

  test('an agent calls an instance under the name of its getter', async () => {
    const provider = new ListProvider(answer('', calls('weather')), answer('Warm.'));
    const agent = modelAgent('a', provider, { tools: [createTool(new Weather())] });
    const { output, toolCalls, messages, tokenUsage, status, agentName } = await agent.run('How warm?');
    expect({ output, status, agentName }).toEqual({ output: 'Warm.', status: 'completed', agentName: 'a' });
    const [called]: ToolResult[] = toolCalls;
    expect(called).toMatchObject({ toolCallId: 'c0', name: 'weather', result: 25 });
    expect(called?.durationMs).toBeTypeOf('number');
    const roles: MessageRole[] = messages.map(({ role }) => role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
    expect(tokenUsage).toEqual({ promptTokens: 6, completionTokens: 4, totalTokens: 10 });
  });

  test('definitions in model.tools are offered beside the tools, and a call of one is that of an unknown tool', async () => {
    const search: ToolDefinition = { name: 'search', description: 'Searches', parameters: { type: 'object' } };
    const provider = new ListProvider(answer('', calls('search')), answer('', calls('nothing')), answer('Done.'));
    const agent = modelAgent('a', provider, { model: { model: 'm', tools: [search] }, tools: [new Weather()] });
    const { toolCalls, output } = await agent.run('x');
    expect(provider.asked[0]?.options.tools?.map(({ name }) => name)).toEqual(['weather', 'search']);
    expect(toolCalls.map(({ error }) => error)).toEqual([
      'there is no tool "search"; available: weather',
      'there is no tool "nothing"; available: weather',
    ]);
    expect(output).toBe('Done.');
    const twice = { model: { model: 'm', tools: [search, search] } };
    expect(() => modelAgent('a', provider, twice)).toThrow('tool "search" exists already');
    const last = new ListProvider(answer('', calls('search')), answer('Done.'));
    const once = { model: { model: 'm', tools: [search] }, maxIterations: 1, finalAnswerTurn: true };
    await modelAgent('a', last, once).run('x');
    expect(last.asked.map(({ options }) => options.tools?.length)).toEqual([1, undefined]);
  });

  test('ToolRegistry and ToolExecutor work by themselves, with a context of any origin', async () => {
    const hub = startedHub();
    const registry: ToolRegistry = new ToolRegistry();
    const weather = new Weather();
    registry.register(weather);
    registry.register({
      name: 'fails',
      description: '',
      parameters: {},
      execute: () => Promise.reject(new Error('no service')),
    });
    const found: Tool | undefined = registry.get('weather');
    expect(found).toBe(weather);
    expect(registry.get('constructor')).toBeUndefined();
    const definitions: ToolDefinition[] = registry.getDefinitions();
    expect(definitions.map(({ name }) => name)).toEqual(['weather', 'fails']);
    const executor = new ToolExecutor(registry);
    hub.event({
      type: 'asked',
      onSuccess: 'ok',
      handler: async (ctx) => {
        const own: AgentContext = {
          ...ctx,
          agentName: 'a',
          runId: 'r',
          tokenUsage: usage,
          delegate: async (agentName: string, input: string) => new EchoAgent(agentName).run(input),
        };
        const results: ToolResult[] = await executor.executeAll(calls('weather', 'fails', 'unknown'), own);
        return results.map(({ toolCallId, name, result, error = null }) => [toolCallId, name, result, error]);
      },
    });
    expect(await resultOf(hub, 'asked', 'x')).toEqual([
      ['c0', 'weather', 25, null],
      ['c1', 'fails', null, 'no service'],
      ['c2', 'unknown', null, 'there is no tool "unknown"; available: weather, fails'],
    ]);
  });
});

describe('an agent with exactly the members of the interface', () => {
  test('is registered, and answers a delegation, whose tokens count', async () => {
    const registry: AgentRegistry = createAgentRegistry();
    const echo = new EchoAgent('echo', 'Repeats');
    registry.register(echo);
    expect([registry.get('echo'), registry.get('other'), registry.has('echo')]).toEqual([echo, undefined, true]);
    const listed: Agent[] = registry.list();
    expect(listed).toEqual([echo]);
    const delegated = { id: 'c', name: 'delegate', arguments: '{"agentName":"echo","input":"hello"}' };
    const reported: TokenUsage[] = [];
    const provider = new ListProvider(answer('', [delegated]), answer('Done.'));
    const agent = modelAgent('a', provider, { registry, onTokenUsage: (spent) => void reported.push(spent) });
    const { toolCalls, tokenUsage } = await agent.run('x', { requestId: 'r' });
    expect(toolCalls).toMatchObject([{ result: 'echo heard 5 characters' }]);
    expect(tokenUsage.totalTokens).toBe(15);
    expect(reported).toHaveLength(3);
    expect(echo.options[0]?.hubCtx).toMatchObject({ requestId: 'r' });
  });

  test('counts once if it passes its options to another agent', async () => {
    const registry = createAgentRegistry();
    class Wrapper extends EchoAgent {
      override run(input: string, options?: AgentRunOptions): Promise<AgentRunResult> {
        return modelAgent('inner', new ListProvider(answer('inner'))).run(input, options);
      }
    }
    registry.register(new Wrapper('wrapper'));
    const delegated = { id: 'c', name: 'delegate', arguments: '{"agentName":"wrapper","input":"hello"}' };
    const agent = modelAgent('a', new ListProvider(answer('', [delegated]), answer('Done.')), { registry });
    expect((await agent.run('x')).tokenUsage.totalTokens).toBe(15);
  });

  test('is a step of a pipeline, also by name', async () => {
    const hub = startedHub();
    const registry = createAgentRegistry();
    registry.register(new EchoAgent('second'));
    const steps: AgentStep[] = [
      { agent: new EchoAgent('first'), inputMapper: (payload: unknown) => `mapped ${String(payload)}` },
      { agent: 'second' },
    ];
    const config: PipelineConfig = { name: 'p', steps, registry, onSuccess: 'ok', onFailure: 'bad', onComplete: 'end' };
    for (const type of ['bad', 'end']) hub.event({ type, handler: () => {} });
    const pipeline: HubWorkflow = createPipeline(config);
    hub.workflow(pipeline);
    hub.event({ type: 'asked', handler: (ctx) => ctx.startWorkflow('p', ctx.payload) });
    expect(await resultOf(hub, 'asked', 'x')).toMatchObject({
      agentName: 'second',
      output: 'second heard 24 characters',
      status: 'completed',
    });
  });

  test('takes part in a debate, and moderates it', async () => {
    const spent: TokenUsage[] = [];
    const config: DebateConfig = {
      name: 'd',
      participants: [new EchoAgent('a'), new EchoAgent('b'), new BrokenAgent('c')],
      maxRounds: 2,
      moderator: new EchoAgent('m'),
      onTokenUsage: (tokens) => void spent.push(tokens),
    };
    const debate: {
      run(topic: string, options?: AgentRunOptions): Promise<DebateResult>;
      asHandler(): HandlerFunction;
    } = createDebate(config);
    const result: DebateResult = await debate.run('Tea?', { requestId: 'r' });
    const rounds: DebateRound[] = result.rounds;
    const [first, second]: (readonly DebateContribution[])[] = rounds.map(({ contributions }) => contributions);
    expect(first?.map(({ agentName, error }) => [agentName, error === undefined])).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
    ]);
    expect(second).toHaveLength(2);
    expect(rounds.map(({ roundNumber }) => roundNumber)).toEqual([1, 2]);
    expect(result).toMatchObject({ topic: 'Tea?', status: 'completed', synthesis: expect.stringMatching(/^m heard/) });
    expect(result.output).toBe(result.synthesis);
    expect(result.tokenUsage.totalTokens).toBe(25);
    expect(spent).toHaveLength(5);
  });

  test('is a handler of events, as are agents and debates of the library', async () => {
    const echo = startedHub();
    echo.event({ type: 'asked', handler: new EchoAgent('e').asHandler(), onSuccess: 'ok' });
    expect(await resultOf(echo, 'asked', 'hello')).toMatchObject({ output: 'e heard 5 characters' });
    const handlers: [HandlerFunction, object][] = [
      [modelAgent('a', new ListProvider(answer('Hi.'))).asHandler(), { agentName: 'a', output: 'Hi.' }],
      [
        createDebate({ name: 'd', participants: [new EchoAgent('a'), new EchoAgent('b')], maxRounds: 1 }).asHandler(),
        { topic: 'hello', status: 'completed' },
      ],
    ];
    for (const [handler, expected] of handlers) {
      const hub = startedHub();
      hub.event({ type: 'asked', handler, onSuccess: 'ok' });
      expect(await resultOf(hub, 'asked', 'hello')).toMatchObject(expected);
    }
  });
});

test('all options of an agent are accepted, and its statuses are those of the interface', async () => {
  const hub = startedHub();
  const transport: TransportManager = hub.transport;
  const memory: AgentMemory = new ConversationMemory({ transport, maxMessages: 100, ttlSeconds: 86_400 });
  const retry: RetryConfig = { maxAttempts: 1 };
  const config: AgentConfig = {
    name: 'a',
    description: 'd',
    systemPrompt: 's',
    provider: new ListProvider(answer('Hi.')),
    model: { model: 'm', temperature: 0, maxTokens: 10, tools: [] },
    tools: [],
    memory,
    maxIterations: 10,
    tokenBudget: 1_000,
    retry,
    onTokenUsage: () => {},
    registry: createAgentRegistry(),
  };
  const agent: Agent = createAgent(config);
  expect([agent.name, agent.description]).toEqual(['a', 'd']);
  const result: AgentRunResult = await agent.run('x', { requestId: 'r', payload: { any: 1 } });
  expect(result).toMatchObject({ runId: 'r', status: 'completed' });
  expect(await memory.getMessages('a', 'r')).toHaveLength(2);
  await memory.addMessage('a', 'r', { role: 'user', content: 'more' });
  await memory.clear('a', 'r');
  expect(await memory.getMessages('a', 'r')).toEqual([]);
  expectTypeOf(result.status).toEqualTypeOf<'completed' | 'failed' | 'max_iterations' | 'token_budget_exceeded'>();
  const loop = Array.from({ length: 12 }, (_, i) => answer('', [{ id: `${i}`, name: 'x', arguments: `{"i":${i}}` }]));
  const provider = new ListProvider(...loop);
  expect((await modelAgent('a', provider).run('x')).status).toBe('max_iterations');
  expect(provider.asked).toHaveLength(10);
  const spender = new ListProvider(answer('', [{ id: '1', name: 'x', arguments: '' }]), answer('late'));
  expect((await modelAgent('a', spender, { tokenBudget: 5 }).run('x')).status).toBe('token_budget_exceeded');
  expect((await modelAgent('a', new ListProvider()).run('x')).status).toBe('failed');
});

test('the provider classes take an apiKey, and a baseUrl', () => {
  const apiKey = 'key-of-the-interface';
  const providers: ModelProvider[] = [
    new AlphaProvider({ apiKey }),
    new BetaProvider({ apiKey }),
    new GammaProvider({ apiKey }),
    new AlphaProvider({ apiKey, baseUrl: 'http://127.0.0.1:1/v1' }),
    new BetaProvider({ apiKey, baseUrl: 'http://127.0.0.1:1/v1' }),
    new GammaProvider({ apiKey, baseUrl: 'http://127.0.0.1:1/v1beta' }),
  ];
  for (const provider of providers) {
    const chat: (messages: Message[], options: ModelOptions) => Promise<ModelResponse> = provider.chat;
    expect(chat).toBeTypeOf('function');
  }
});

test('the dashboard serves three routes below basePath, and GET only', async () => {
  const hub = startedHub();
  hub.event({ type: 'order.placed', handler: () => {} });
  await hub.start();
  const options: DashboardOptions = { basePath: '/admin' };
  const handler: (req: IncomingMessage, res: ServerResponse) => void = createDashboardHandler(hub, options);
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  // It listens on a port.
  const { port } = server.address() as AddressInfo;
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return [response.status, response.headers.get('content-type')?.split(';')[0]];
  };
  expect(await get('/admin/')).toEqual([200, 'text/html']);
  expect(await get('/admin/api/introspection')).toEqual([200, 'application/json']);
  expect(await get('/admin/api/events/order.placed')).toEqual([200, 'application/json']);
  expect((await get('/admin/api/other'))[0]).toBe(404);
  expect((await get('/admin/', 'POST'))[0]).toBe(405);
  const html: string = getDashboardHtml();
  expect(html).toMatch(/^<!doctype html>/i);
});
