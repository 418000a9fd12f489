import { createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createAgent, toUIMessageResponse } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';

const agent = createAgent({
  name: 'support',
  systemPrompt: 'You answer customers.',
  provider: scriptedProvider([{ content: ['It leaves ', 'tomorrow.'] }]),
  model: { model: 'script' },
});
const server = createServer(async (_request, response) => {
  const { status, headers, body } = toUIMessageResponse(agent.stream('When does my order leave?'));
  response.writeHead(status, Object.fromEntries(headers));
  if (body !== null) await pipeline(body, response);
});
server.listen(0, '127.0.0.1', async () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  const deltas = [...(await response.text()).matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta);
  console.log(response.headers.get('content-type'), JSON.stringify(deltas));
  server.close();
});
