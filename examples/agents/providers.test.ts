import { LLMock } from '@copilotkit/aimock';
import { AnthropicProvider, createAgent, GeminiProvider, OpenAIProvider } from 'hubline/agents';
import { expect, onTestFinished, test } from 'vitest';
import { chooseModel, echo, fromPackage } from './providers.js';

const systemPrompt = 'Be brief.';

test.each([
  [{ OPENAI_API_KEY: 'k' }, OpenAIProvider],
  [{ ANTHROPIC_API_KEY: 'k' }, AnthropicProvider],
  [{ GEMINI_API_KEY: 'k' }, GeminiProvider],
])('%j selects the vendor', (env, provider) => {
  expect(chooseModel(env).provider).toBeInstanceOf(provider);
});

test('without an API key the local model answers, through either package', async () => {
  const mock = await LLMock.create({ port: 0, strict: true });
  onTestFinished(() => mock.stop());
  mock.onMessage('hello', { content: 'Hi there!' });
  const local = createAgent({ name: 'local', systemPrompt, ...chooseModel({ OLLAMA_URL: `${mock.url}/v1` }) });
  const provider = fromPackage(`${mock.url}/v1`);
  const packaged = createAgent({ name: 'packaged', systemPrompt, provider, model: { model: 'any' } });
  expect(await Promise.all([local, packaged].map(async (agent) => (await agent.run('hello')).output))).toEqual([
    'Hi there!',
    'Hi there!',
  ]);
});

test('a custom provider answers, and its token usage is estimated', async () => {
  const agent = createAgent({ name: 'echo', systemPrompt, provider: echo, model: { model: 'echo' } });
  expect(await agent.run('hello')).toMatchObject({ output: 'hello', tokenUsage: { estimated: true } });
});
