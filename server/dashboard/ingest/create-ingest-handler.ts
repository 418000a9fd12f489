import type { Hub } from '../../hub/hub.js';
import type { DashboardHandler } from '../create-dashboard-handler.js';
import { createFetchHandler, createNodeHandler } from '../posted-request.js';
import { createIngestCore } from './ingest-core.js';
import { type IngestFetchOptions, type IngestOptions, resolveIngestOptions } from './ingest-options.js';

/**
 * Creates a request handler through which programs in any language, and the webhooks of vendors, emit events:
 * `POST <mount>/<type>` with a payload, or `POST <mount>/` with up to 1,000 events. `GET <mount>/openapi.json` describes
 * both. Payloads are checked against the schemas of their types, and a repeated `Idempotency-Key` is deduplicated. The
 * handler never throws: errors go to the hub's logger.
 *
 * @example
 * ```ts
 * createServer(createIngestHandler(hub, { types: [orderPlaced], authorize: isPartner })).listen(3000);
 * app.use('/hooks', createIngestHandler(hub, { types: ['stripe.event'], verify: verifyStripe({ secret }), authorize }));
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createIngestHandler(hub: Hub, options: IngestOptions): DashboardHandler {
  const settings = resolveIngestOptions(options, 'createIngestHandler');
  return createNodeHandler(createIngestCore(hub, settings), settings.basePath, options.authorize);
}

/**
 * Creates a function from request to response through which programs emit events, as {@link createIngestHandler} does for
 * `node:http`. It never rejects.
 *
 * @example
 * ```ts
 * const handle = createIngestFetch(hub, { basePath: '/hooks', types: [orderPlaced], authorize });
 * export { handle as GET, handle as POST }; // Next
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createIngestFetch(hub: Hub, options: IngestFetchOptions): (request: Request) => Promise<Response> {
  const settings = resolveIngestOptions(options, 'createIngestFetch');
  return createFetchHandler(createIngestCore(hub, settings), options.authorize);
}
