import { createServer } from 'node:http';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { listenLocally } from '../../scripts/listen-locally.js';
import { createReporter } from './delegating-tool.js';

test('the tool delegates each page, and the reporter receives the summaries', async () => {
  const server = createServer((_req, res) => res.end('Tea is a shrub.'));
  onTestFinished(() => void server.close());

  const origin = `http://127.0.0.1:${await listenLocally(server)}`;
  const urls = [`${origin}/`];
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'summarise', arguments: { urls } }] },
    ({ messages }) => `Summary: ${messages.at(-1)?.content}`,
    'The page is about tea.',
  ]);
  const { output, toolCalls, tokenUsage } = await createReporter(provider, [origin]).run('What is there?');
  expect([output, toolCalls[0]?.result]).toEqual(['The page is about tea.', ['Summary: Tea is a shrub.']]);
  expect(tokenUsage.totalTokens).toBe(45);
  provider.assertDone();
});

test.each(['http://169.254.169.254/latest/meta-data', 'file:///etc/passwd', 'http://localhost@127.0.0.1/'])(
  'the tool does not fetch %s',
  async (url) => {
    const provider = scriptedProvider([{ toolCalls: [{ name: 'summarise', arguments: { urls: [url] } }] }, 'No.']);
    const { toolCalls } = await createReporter(provider, ['https://example.com']).run('What is there?');
    expect(toolCalls[0]?.error).toBe('this address is not allowed');
  },
);
