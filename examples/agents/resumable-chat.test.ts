import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createHub } from 'hubline';
import { createAgent, createTool } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { answerChats, type ChatTable, createChatApp, type StoredChat } from './resumable-chat.js';

test('a chat is answered, decided on, resumed and stopped by its user alone', async () => {
  const refund = createTool({
    name: 'refund',
    description: 'Refunds an order',
    parameters: { type: 'object' },
    needsApproval: true,
    execute: async () => 'done',
  });
  const call = { toolCalls: [{ name: 'refund' }] };
  const agent = createAgent({
    name: 'assistant',
    systemPrompt: '',
    provider: scriptedProvider([call, 'Refunded.', call]),
    model: { model: 'm' },
    tools: [refund],
  });
  const hub = createHub({ service: 'assistant', logger: false });
  answerChats(hub, agent);
  await hub.start();
  const chats = new Map<string, StoredChat>();
  const table: ChatTable = {
    load: async (user, id) => chats.get(`${user} ${id}`),
    save: async (user, id, chat) => void chats.set(`${user} ${id}`, chat),
  };
  const server = createChatApp(hub, table, (request) => request.get('x-user') ?? 'nobody').listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await hub.stop({ drainMs: 0 });
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  const headers = { 'content-type': 'application/json', 'x-user': 'ada' };
  const post = (path: string, body: object, user = 'ada'): Promise<Response> =>
    fetch(`${api}${path}`, { method: 'POST', headers: { ...headers, 'x-user': user }, body: JSON.stringify(body) });
  const messages = [{ role: 'user', parts: [{ type: 'text', text: 'Refund it' }] }];
  const approvalOf = async (): Promise<string> =>
    vi.waitFor(async () => {
      const [step] = (await hub.find(chats.get('ada 1')?.runId ?? '')).flatMap(({ steps = [] }) =>
        steps.filter(({ kind, status }) => kind === 'approval' && status === 'waiting'),
      );
      if (step?.waitsFor?.event?.key === undefined) throw new Error('nothing waits');
      return step.waitsFor.event.key;
    });

  const answer = post('', { id: '1', messages });
  const approvalId = await approvalOf();
  expect((await post('/1/decision', { approvalId, approved: true }, 'bob')).status).toBe(204);
  expect((await fetch(`${api}/1/stream`, { headers: { ...headers, 'x-user': 'bob' } })).status).toBe(204);
  await post('/1/decision', { approvalId: 'another', approved: false });
  await post('/1/decision', { approvalId, approved: true });
  const text = await (await answer).text();
  expect(text).toContain(`"type":"tool-approval-request","approvalId":"${approvalId}"`);
  expect(text).toContain('"output":"done"');
  expect(text).toContain('"delta":"Refunded."');
  expect(await (await fetch(`${api}/1/stream`, { headers })).text()).toBe(text);
  expect(await (await fetch(`${api}/1`, { headers })).json()).toEqual(messages);

  const second = post('', { id: '1', messages });
  await vi.waitFor(() => expect(text).not.toContain(chats.get('ada 1')?.runId));
  await approvalOf();
  await post('/1/stop', {});
  expect(await (await second).text()).toContain('"type":"abort"');
});
