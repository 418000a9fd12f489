import { LLMock } from '@copilotkit/aimock';
import { expect, onTestFinished, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('calls a Chat Completions server, runs the tool, and prints the answer', async () => {
  const mock = await LLMock.create({ port: 0, strict: true });
  onTestFinished(() => mock.stop());
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  mock.on({ hasToolResult: true }, { content: 'It is late.', usage });
  mock.onMessage('Bergen', { toolCalls: [{ name: 'time', arguments: '{"timeZone":"Europe/Oslo"}' }], usage });

  const env = { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${mock.url}/v1`, MODEL: 'llama3.2' };
  const { exitCode, stdout, stderr } = await startExample('agents/agent.ts', { env }).ended;
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toBe('completed, 30 tokens: It is late.\n');
});

test('names the missing API key', async () => {
  const { exitCode, stderr } = await startExample('agents/agent.ts', { env: { OPENAI_API_KEY: '' } }).ended;
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain('apiKey of OpenAIProvider must be a non-empty string');
});
