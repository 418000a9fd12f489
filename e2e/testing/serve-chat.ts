import { once } from 'node:events';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { build } from 'vite';
import { type ChatTable, createChatApp, declareChat, type StoredChat } from '../../examples/agents/resumable-chat.js';

const entry = `
  import { createElement } from 'react';
  import { createRoot } from 'react-dom/client';
  import { ChatPage, createChat } from './chat-page.tsx';
  const id = location.pathname.slice(1);
  const messages = await (await fetch('/api/chat/' + id)).json();
  createRoot(document.getElementById('root')).render(createElement(ChatPage, { chat: createChat(id, messages) }));
`;

/** Bundles the example's page with React and the AI SDK. */
async function bundlePage(): Promise<string> {
  const name = 'virtual-entry.js';
  const root = join(import.meta.dirname, '../../examples/chat-page');
  const built = await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === name ? join(root, name) : undefined),
        load: (id) => (id === join(root, name) ? entry : undefined),
      },
    ],
    build: { write: false, target: 'es2022', minify: false, rolldownOptions: { input: name } },
  });
  const { output } = [built].flat()[0] as { output: { code?: string }[] };
  return output[0]?.code ?? '';
}

/** Serves the example's chat, and its page at the path of each chat. */
export async function serveChat(
  redisUrl: string,
): Promise<{ readonly url: string; readonly chats: Map<string, StoredChat>; close(): Promise<void> }> {
  const script = await bundlePage();
  const hub = createHub({ transport: redisTransport({ url: redisUrl }), service: 'web', logger: false });
  declareChat(hub);
  await hub.start();
  const chats = new Map<string, StoredChat>();
  const table: ChatTable = {
    load: async (user, id) => chats.get(`${user} ${id}`),
    save: async (user, id, chat) => void chats.set(`${user} ${id}`, chat),
  };
  const app = createChatApp(hub, table, () => 'ada');
  app.get('/page.js', (_, res) => void res.type('js').send(script));
  app.get('/:id', (_, res) => {
    res
      .type('html')
      .send('<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>');
  });
  const server: Server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    chats,
    async close() {
      server.close();
      server.closeAllConnections();
      await hub.stop({ drainMs: 0 });
    },
  };
}
