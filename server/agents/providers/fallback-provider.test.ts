import { LLMock } from '@copilotkit/aimock';
import { describe, expect, test, vi } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import type { ModelAgent } from '../agent/agent.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import type { ModelProvider } from '../model/model-provider.js';
import { ProviderError } from '../model/provider-error.js';
import { add, callAdd } from '../scripted-agent.fixture.js';
import { fallbackProvider } from './fallback-provider.js';
import { AnthropicProvider, OpenAIProvider } from './vendor-providers.js';
import { serve } from './wire.fixture.js';

const busy = new ProviderError('busy', { provider: 'p', statusCode: 503, retryable: true });
const refused = new ProviderError('refused', { provider: 'p', statusCode: 400, retryable: false });
const quota = new ProviderError('no quota', { provider: 'p', statusCode: 429, retryable: false });

function agentOf(scripts: readonly (readonly ScriptEntry[])[], config: Partial<AgentConfig> = {}) {
  const providers = scripts.map((script) => scriptedProvider(script));
  const entries = providers.map((provider, index) => ({
    provider,
    ...(index > 0 && { model: { model: `m${index}`, temperature: 1 } }),
  }));
  const agent = createAgent({
    name: 'a',
    systemPrompt: '',
    provider: fallbackProvider(entries),
    model: { model: 'm0' },
    tools: [add],
    ...config,
  });
  return { agent, providers };
}

describe.each(['run', 'stream'] as const)('%s', (how) => {
  const run = (agent: ModelAgent) => (how === 'run' ? agent.run('x') : agent.stream('x').result);

  test('calls the next provider after the retries, and continues with it', async () => {
    const retry = { maxAttempts: 2, initialDelayMs: 0 };
    const warn = vi.fn();
    const logger = { debug: vi.fn(), info: vi.fn(), error: vi.fn(), warn };
    const { agent, providers } = agentOf(
      [
        [busy, busy, 'first again'],
        [callAdd(1, 2), 'three'],
      ],
      { retry, logger },
    );
    expect(await run(agent)).toMatchObject({ status: 'completed', output: 'three' });
    expect(providers.map(({ calls }) => calls.map(({ options }) => options.model))).toEqual([
      ['m0', 'm0'],
      ['m1', 'm1'],
    ]);
    expect(providers[1]?.calls[0]?.options).toMatchObject({ temperature: 1, tools: [{ name: 'add' }] });
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ model: 'm0', nextModel: 'm1' }), 'agent "a" changes its provider'],
    ]);
    // The next run starts with the first provider.
    expect(await run(agent)).toMatchObject({ output: 'first again' });
  });

  test('an exhausted quota moves on without a retry; a refused call does not', async () => {
    const retry = { maxAttempts: 3, initialDelayMs: 0 };
    const moved = agentOf([[quota], ['fine']], { retry });
    expect(await run(moved.agent)).toMatchObject({ status: 'completed', output: 'fine' });
    const stays = agentOf([[refused], []], { retry });
    expect(await run(stays.agent)).toMatchObject({ status: 'failed', error: refused });
    expect(stays.providers[1]?.calls).toEqual([]);
  });

  test('fails with the error of the last provider', async () => {
    expect(await run(agentOf([[busy], [quota]]).agent)).toMatchObject({ status: 'failed', error: quota });
  });

  test('tokens of failed calls count', async () => {
    const usage = { promptTokens: 70, completionTokens: 30, totalTokens: 100 };
    const cut = new ProviderError('cut', { provider: 'p', retryable: true, usage });
    expect((await run(agentOf([[cut], ['ok']]).agent)).tokenUsage.totalTokens).toBe(115);
    const within = await run(agentOf([[cut], ['ok']], { tokenBudget: 100 }).agent);
    expect(within).toMatchObject({ status: 'token_budget_exceeded', tokenUsage: usage });
  });
});

test('never moves on after a text was streamed', async () => {
  const { agent, providers } = agentOf([[{ content: 'some', error: busy }], ['other']]);
  expect(await agent.stream('x').result).toMatchObject({ status: 'failed', error: busy });
  expect(providers[1]?.calls).toEqual([]);
});

test('never moves on after an abort', async () => {
  const controller = new AbortController();
  const entry = (): Error => {
    controller.abort(new Error('enough'));
    return busy;
  };
  const { agent, providers } = agentOf([[entry], ['other']]);
  await expect(agent.run('x', { signal: controller.signal })).rejects.toThrow('enough');
  expect(providers[1]?.calls).toEqual([]);
});

test('a list in a list is one list, and models of the inner one remain', async () => {
  const first = scriptedProvider([busy]);
  const second = scriptedProvider([busy]);
  const third = scriptedProvider(['third']);
  const inner = fallbackProvider([{ provider: first }, { provider: second, model: { model: 'inner' } }]);
  const provider = fallbackProvider([{ provider: inner, model: { model: 'outer' } }, { provider: third }]);
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'own' } });
  expect((await agent.run('x')).output).toBe('third');
  expect([first, second, third].map(({ calls }) => calls[0]?.options.model)).toEqual(['outer', 'inner', 'own']);
});

test('has a JSON mode if all of its providers have one', () => {
  const [yes, no] = [scriptedProvider([], { jsonMode: true }), scriptedProvider([])];
  expect(fallbackProvider([{ provider: yes }, { provider: yes }]).jsonMode).toBe(true);
  expect(fallbackProvider([{ provider: yes }, { provider: no }]).jsonMode).toBe(false);
});

test('works without an agent', async () => {
  const ask: Parameters<ModelProvider['chat']>[0] = [{ role: 'user', content: 'x' }];
  const chain = (...scripts: (readonly ScriptEntry[])[]) =>
    fallbackProvider(scripts.map((script) => ({ provider: scriptedProvider(script) })));
  expect(await chain([busy], ['ok']).chat(ask, { model: 'm' })).toMatchObject({ content: 'ok' });
  await expect(chain([refused], ['ok']).chat(ask, { model: 'm' })).rejects.toBe(refused);
  await expect(chain([busy], [quota]).chat(ask, { model: 'm' })).rejects.toBe(busy);
  const read = async (provider: Required<ModelProvider>): Promise<string> => {
    let text = '';
    for await (const { content = '' } of provider.chatStream(ask, { model: 'm' })) text += content;
    return text;
  };
  expect(await read(chain([busy], [{ content: ['o', 'k'] }]))).toBe('ok');
  await expect(read(chain([{ content: 'some', error: busy }], ['ok']))).rejects.toBe(busy);
  const chat = scriptedProvider(['whole']).chat;
  expect(await read(fallbackProvider([{ provider: scriptedProvider([busy]) }, { provider: { chat } }]))).toBe('whole');
});

test('a conversation with tools moves from one vendor to another, on the wire', async () => {
  const mock = await LLMock.create({ port: 0, strict: true });
  const usage = { prompt_tokens: 11, completion_tokens: 7 };
  const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };
  const message = { role: 'assistant', content: '', tool_calls: [call] };
  let requests = 0;
  const openAi = await serve((response) => {
    requests += 1;
    const isFirst = requests === 1;
    response.writeHead(isFirst ? 200 : 429, { 'content-type': 'application/json' });
    const error = { message: 'You exceeded your quota', type: 'insufficient_quota', code: 'insufficient_quota' };
    response.end(
      JSON.stringify(isFirst ? { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage } : { error }),
    );
  });
  mock.on({ userMessage: 'sum', turnIndex: 1 }, { content: 'three', usage });
  const apiKey = 'sk-very-secret-0123456789';
  const agent = createAgent({
    name: 'a',
    systemPrompt: 'Be brief.',
    provider: fallbackProvider([
      { provider: new OpenAIProvider({ apiKey, baseUrl: `${openAi.url}/v1` }) },
      { provider: new AnthropicProvider({ apiKey, baseUrl: `${mock.url}/v1` }), model: { model: 'claude-haiku-4-5' } },
    ]),
    model: { model: 'gpt-4o' },
    tools: [add],
  });
  expect(await agent.run('sum')).toMatchObject({ status: 'completed', output: 'three', toolCalls: [{ result: 3 }] });
  await openAi.close();
  await mock.stop();
});

test.each<[unknown, string]>([
  [[], 'fallbackProvider must be an array of { provider, model? } with at least one entry'],
  [undefined, 'fallbackProvider must be an array'],
  [[{}], 'provider of an entry of fallbackProvider must be set'],
  [[{ provider: {} }], 'provider of an entry of fallbackProvider must be an object with the methods chat'],
  [
    [{ provider: scriptedProvider([]), modell: {} }],
    'option of an entry of fallbackProvider must be one of provider, model',
  ],
])('refuses %j', (entries, message) => {
  // Wrong on purpose: the compiler rejects it.
  const wrong = entries as Parameters<typeof fallbackProvider>[0];
  expect(() => fallbackProvider(wrong)).toThrow(InvalidOptionError);
  expect(() => fallbackProvider(wrong)).toThrow(message);
});

test('createAgent checks the models of the list', () => {
  const provider = scriptedProvider([]);
  const chain = fallbackProvider([{ provider }, { provider, model: { model: 'm', topP: 5 } }]);
  expect(() => createAgent({ name: 'a', systemPrompt: '', provider: chain, model: { model: 'm' } })).toThrow(
    'model.topP of provider 2 of agent "a" must be from 0 to 1',
  );
});
