import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createActionsHandler, createDashboardHandler, type Hub, type Operator, type Right } from 'hubline';

/** Users of the application. `sessionOf` reads the cookie of a request. */
export interface Sessions {
  sessionOf(req: IncomingMessage): { readonly email: string; readonly isOnCall: boolean } | undefined;
}

const onCall: readonly Right[] = ['replay', 'cancel', 'pause', 'resume', 'approve', 'payload', 'audit'];

/** Serves the dashboard below `/ops/hub`: everyone who is signed in may look, and who is on call may act. */
export function serveOperations(hub: Hub, sessions: Sessions): Server {
  const authorize = (req: IncomingMessage): Operator | null => {
    const session = sessions.sessionOf(req);
    if (session === undefined) return null;
    return { user: session.email, can: session.isOnCall ? onCall : [] };
  };
  const dashboard = createDashboardHandler(hub, {
    basePath: '/ops/hub',
    actions: '/ops/hub-actions',
    authorize: (req) => sessions.sessionOf(req) !== undefined,
  });
  const actions = createActionsHandler(hub, {
    basePath: '/ops/hub-actions',
    authorize,
    formatPayload: (_type, content) => withoutCards(content),
  });
  return createServer((req, res) => {
    if (req.url?.startsWith('/ops/hub-actions') === true) actions(req, res);
    else dashboard(req, res);
  });
}

/** Returns a copy of a content in which numbers of cards are masked. */
function withoutCards(content: unknown): unknown {
  if (typeof content === 'string') return content.replaceAll(/\b\d{12,19}\b/g, '…');
  if (Array.isArray(content)) return content.map(withoutCards);
  if (typeof content !== 'object' || content === null) return content;
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [name, withoutCards(value)]));
}
