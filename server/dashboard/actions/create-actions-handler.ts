import type { Hub } from '../../hub/hub.js';
import type { DashboardHandler } from '../create-dashboard-handler.js';
import { createFetchHandler, createNodeHandler } from '../posted-request.js';
import { createActionsCore } from './actions-core.js';
import { type ActionsFetchOptions, type ActionsOptions, resolveActionsOptions } from './actions-options.js';

/**
 * Creates a request handler through which the dashboard's page, and programs, act on a hub and on all services of its
 * transport: replay, cancel, fork, pause, resume, approve, retire and erase, look at payloads and read the audit. `GET` of the
 * mount returns `{ user, can }`; each action is `POST <mount>/<action>` with JSON. Requests of other origins are refused,
 * and every action is recorded in the audit. The handler never throws: errors go to the hub's logger.
 *
 * @example
 * ```ts
 * const authorize = async (req) => {
 *   const user = await sessionOf(req);
 *   return user && { user: user.email, can: user.isOnCall ? ['replay', 'cancel', 'pause', 'resume'] : [] };
 * };
 * app.use('/ops/hub-actions', createActionsHandler(hub, { authorize }));
 * app.use('/ops/hub', createDashboardHandler(hub, { actions: '/ops/hub-actions', authorize: isAdmin }));
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createActionsHandler(hub: Hub, options: ActionsOptions): DashboardHandler {
  const settings = resolveActionsOptions(options, 'createActionsHandler');
  return createNodeHandler(createActionsCore(hub, settings), settings.basePath, options.authorize);
}

/**
 * Creates a function from request to response that acts on a hub, as {@link createActionsHandler} does for `node:http`.
 * It never rejects.
 *
 * @example
 * ```ts
 * const handle = createActionsFetch(hub, { basePath: '/ops/hub-actions', authorize });
 * export { handle as GET, handle as POST }; // Next
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createActionsFetch(hub: Hub, options: ActionsFetchOptions): (request: Request) => Promise<Response> {
  const settings = resolveActionsOptions(options, 'createActionsFetch');
  return createFetchHandler(createActionsCore(hub, settings), options.authorize);
}
