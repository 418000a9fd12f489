import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type Express, type Request, type Response } from 'express';
import { createEvent, type Hub, NoApprovalError } from 'hubline';
import { type ApprovalDecided, type ApprovalRequest, type ModelAgent, resumeUIMessageResponse } from 'hubline/agents';
import { z } from 'zod';

const question = z.object({ chat: z.string(), text: z.string() });
const asked = createEvent({ type: 'chat.asked', schema: question, key: ({ chat }) => chat });
const requested = createEvent<ApprovalRequest>({ type: 'chat.approval-requested' });
const decided = createEvent<ApprovalDecided>({
  type: 'chat.approval-decided',
  key: ({ approvalId }) => approvalId,
});

/** Registers the events of chats on a hub that only asks, such as that of a web server. */
export function declareChat(hub: Hub): void {
  hub.event(asked, { subscribers: ['assistant'] });
  hub.event(requested);
  hub.event(decided);
}

/** Registers the agent that answers, on the hub of a worker with the service `assistant`. */
export function answerChats(hub: Hub, agent: ModelAgent): void {
  hub.event(requested);
  hub.event(decided);
  hub.event(asked, {
    handler: agent.asHandler({
      publish: true,
      approvals: { requested, decided },
      input: (payload) => question.parse(payload).text,
    }),
    concurrencyPerKey: 1,
    retry: { maxAttempts: 3 },
  });
}

/** Chat as the application stores it: the messages that its page sent last, and the run that answers. */
export interface StoredChat {
  readonly messages: readonly unknown[];
  readonly runId: string;
}

/** Table of the application. A user finds no chats but their own. */
export interface ChatTable {
  load(user: string, id: string): Promise<StoredChat | undefined>;
  save(user: string, id: string, chat: StoredChat): Promise<void>;
}

/** Body that `useChat` posts. */
const posted = z.object({
  id: z.string().max(100),
  messages: z.array(
    z.looseObject({
      role: z.string(),
      parts: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    }),
  ),
});

const decision = z.object({ approvalId: z.string(), approved: z.boolean() });

/** Creates the web server of chats, of which any number may run. Each answer is written by a worker. */
export function createChatApp(hub: Hub, chats: ChatTable, userOf: (request: Request) => string): Express {
  const app = express().use(express.json({ limit: '1mb' }));
  const respond = async (req: Request, res: Response, id: string, runId: string): Promise<void> => {
    const left = new AbortController();
    res.once('close', () => left.abort());
    const request = new globalThis.Request(new URL(req.url, 'http://localhost'), { signal: left.signal });
    const { status, headers, body } = await resumeUIMessageResponse(hub, runId, request, {
      authorize: async () => (await chats.load(userOf(req), id))?.runId === runId,
    });
    res.writeHead(status, Object.fromEntries(headers));
    if (body === null) res.end();
    // A response that breaks off is resumed by the page.
    else await pipeline(Readable.fromWeb(body), res).catch(() => {});
  };
  app.post('/api/chat', async (req, res) => {
    const { id, messages } = posted.parse(req.body);
    const user = userOf(req);
    const text = (messages.at(-1)?.parts ?? []).map((part) => part.text ?? '').join('');
    // The id of a chat comes from the browser: with the user's name in front of it, it is the key of no other user's chat.
    const { id: runId } = await hub.emit(asked, { chat: JSON.stringify([user, id]), text });
    await chats.save(user, id, { messages, runId });
    await respond(req, res, id, runId);
  });
  app.get('/api/chat/:id', async (req, res) => {
    const chat = await chats.load(userOf(req), req.params.id);
    res.json(chat?.messages ?? []);
  });
  app.get('/api/chat/:id/stream', async (req, res) => {
    const chat = await chats.load(userOf(req), req.params.id);
    if (chat === undefined) res.status(204).end();
    else await respond(req, res, req.params.id, chat.runId);
  });
  app.post('/api/chat/:id/decision', async (req, res) => {
    const chat = await chats.load(userOf(req), req.params.id);
    if (chat !== undefined) {
      // Another tab may have decided already.
      await hub.decide(chat.runId, decision.parse(req.body)).catch((error: unknown) => {
        if (!(error instanceof NoApprovalError)) throw error;
      });
    }
    res.status(204).end();
  });
  app.post('/api/chat/:id/stop', async (req, res) => {
    const chat = await chats.load(userOf(req), req.params.id);
    if (chat !== undefined) await hub.cancel(chat.runId);
    res.status(204).end();
  });
  return app;
}
