import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAgent } from 'hubline/agents';
import { expect, onTestFinished, test } from 'vitest';
import { azureModel, reasoningModel } from './openai.js';

test('both models are called in the form of Responses, and keep nothing at the vendor', async () => {
  const requests: { url: string | undefined; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    requests.push({ url: request.url, body: JSON.parse(text) });
    const content = [{ type: 'output_text', text: 'Hi there!', annotations: [] }];
    const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
    const usage = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'resp_1', created_at: 1, model: 'm', status: 'completed', output, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  for (const model of [reasoningModel('k', `${url}/v1`), azureModel('k', url, 'my-deployment')]) {
    const agent = createAgent({ name: 'a', systemPrompt: 'Be brief.', ...model });
    expect(await agent.run('hello')).toMatchObject({ status: 'completed', output: 'Hi there!' });
  }
  expect(requests).toMatchObject([
    { url: '/v1/responses', body: { model: 'gpt-5', store: false, reasoning: { effort: 'low' } } },
    { url: '/openai/v1/responses', body: { model: 'my-deployment', store: false } },
  ]);
});
