import { createServer, type IncomingMessage, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type ModelAgent, toUIMessageResponse } from 'hubline/agents';
import { z } from 'zod';

/** Body that `useChat` posts: the id of the chat, its messages, and whether to answer the last one again. */
const chatRequest = z.object({
  id: z.string().max(100),
  trigger: z.enum(['submit-message', 'regenerate-message']),
  messages: z.array(
    z.object({ role: z.string(), parts: z.array(z.object({ type: z.string(), text: z.string().optional() })) }),
  ),
});

/** Creates a server that answers the chats of its users at /api/chat. */
export function createChatServer(agent: ModelAgent, userOf: (request: IncomingMessage) => string | undefined): Server {
  return createServer(async (request, response) => {
    const user = userOf(request);
    if (request.url !== '/api/chat' || request.method !== 'POST' || user === undefined) {
      response.writeHead(user === undefined ? 401 : 404).end();
      return;
    }
    const chat = chatRequest.safeParse(await json(request).catch(() => undefined));
    const parts = chat.data?.messages.findLast(({ role }) => role === 'user')?.parts ?? [];
    const question = parts.map(({ text }) => text ?? '').join('');
    if (!chat.success || question === '') {
      response.writeHead(400).end();
      return;
    }
    // The id of a chat comes from the browser: with the user's name in front of it, it opens no chat of another user.
    const conversationId = JSON.stringify([user, chat.data.id]);
    const abort = new AbortController();
    // A browser that disconnects ends the run.
    response.once('close', () => abort.abort());
    // With a memory, a new answer to the last question takes the place of the old one.
    const regenerate = chat.data.trigger === 'regenerate-message';
    const stream = agent.stream(question, { conversationId, regenerate, signal: abort.signal });
    const { status, headers, body } = toUIMessageResponse(stream);
    response.writeHead(status, Object.fromEntries(headers));
    if (body !== null) await pipeline(body, response).catch(() => {});
  });
}
