import { once } from 'node:events';
import { createServer } from 'node:http';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { createReporter } from './delegating-tool.js';

test('each page is read by the summariser, and the reporter gets the summaries', async () => {
  const server = createServer((_req, res) => res.end('Tea is a shrub.')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('a TCP server has an address with a port');

  const urls = [`http://127.0.0.1:${address.port}/`];
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
