import { createServer } from 'node:http';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { listenLocally } from '../scripts/listen-locally.js';
import { createReporter } from './delegating-tool.js';

test('the tool delegates each page, and the reporter receives the summaries', async () => {
  const server = createServer((_req, res) => res.end('Tea is a shrub.'));
  onTestFinished(() => void server.close());

  const urls = [`http://127.0.0.1:${await listenLocally(server)}/`];
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'summarise', arguments: { urls } }] },
    ({ messages }) => `Summary: ${messages.at(-1)?.content}`,
    'The page is about tea.',
  ]);
  const { output, toolCalls, tokenUsage } = await createReporter(provider).run('What is there?');
  expect([output, toolCalls[0]?.result]).toEqual(['The page is about tea.', ['Summary: Tea is a shrub.']]);
  expect(tokenUsage.totalTokens).toBe(45);
  provider.assertDone();
});
