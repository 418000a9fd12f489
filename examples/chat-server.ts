import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Agent, toUIMessageResponse } from 'hubline/agents';
import { z } from 'zod';

/** Body that `useChat` posts: the id of the chat and its messages. */
const chatRequest = z.object({
  id: z.string().max(100),
  messages: z.array(
    z.object({ role: z.string(), parts: z.array(z.object({ type: z.string(), text: z.string().optional() })) }),
  ),
});

/** Creates a server that answers the chats of its users at /api/chat. */
export function createChatServer(agent: Agent, userOf: (request: IncomingMessage) => string | undefined): Server {
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
    const stream = agent.stream(question, { conversationId: JSON.stringify([user, chat.data.id]) });
    const { status, headers, body } = toUIMessageResponse(stream);
    response.writeHead(status, Object.fromEntries(headers));
    // Rejects if the browser disconnects, which aborts the run.
    if (body !== null) await pipeline(Readable.fromWeb(body), response).catch(() => {});
  });
}
