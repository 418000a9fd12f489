import type { Hub } from '../../hub/hub.js';
import { failedResult, type JsonResult } from '../json-result.js';
import type { PostedRequest, Respond } from '../posted-request.js';
import type { OperatorBody, Right } from '../protocol.js';
import { decodeName, pathBelow } from '../request.js';
import { RequestGate } from '../request-gate.js';
import { ActionBody } from './action-body.js';
import { checkOperator, type Operator, type ResolvedActionsOptions, rights } from './actions-options.js';
import { carryOutOnce } from './idempotent-actions.js';
import { refuseForeign, refuseForeignRead } from './origin-check.js';
import { actions } from './perform-action.js';

/** Largest body of a request in bytes. */
const maxBodyBytes = 262_144;

const refusals = {
  'content-type': failedResult(415, 'ERR_UNSUPPORTED_MEDIA_TYPE', 'Send JSON with Content-Type: application/json.'),
  origin: failedResult(
    403,
    'ERR_FORBIDDEN_ORIGIN',
    'The header Origin must name the origin of this server; behind a proxy, set allowedOrigins.',
  ),
  site: failedResult(403, 'ERR_FORBIDDEN_ORIGIN', 'Only pages of the same origin may act.'),
} as const;

const notFound = failedResult(404, 'ERR_NOT_FOUND', 'There is no such action.');
const methodNotAllowed = failedResult(
  405,
  'ERR_METHOD_NOT_ALLOWED',
  'Actions take POST, the list of rights takes GET.',
);

/**
 * Creates the part of an actions handler that does not depend on how requests arrive: it checks where a request comes
 * from, then who sends it, then what it asks for.
 *
 * @throws {InvalidOptionError} if `hub` is not a hub
 */
export function createActionsCore(hub: Hub, options: ResolvedActionsOptions): Respond<Operator | null> {
  const { basePath, isAllowedHost, allowedOrigins, formatPayload, transport } = options;
  const gate = new RequestGate('actions', hub, isAllowedHost);
  const parts = { hub, ...(formatPayload && { formatPayload }), ...(transport && { transport }) };

  async function respond(request: PostedRequest<Operator | null>): Promise<JsonResult> {
    const path = request.targets.map((target) => pathBelow(basePath, target)).find((below) => below !== undefined);
    const name = path === undefined ? undefined : decodeName(path.slice(1));
    const right = rights.find((each) => each === name);
    if (name !== '' && right === undefined) return notFound;
    const method = right === undefined ? 'GET' : 'POST';
    if (request.method !== method) return { ...methodNotAllowed, headers: [['Allow', method]] };
    const forbidden = gate.refuseHost(request.host);
    if (forbidden !== undefined) return forbidden;
    const foreign = right === undefined ? refuseForeignRead(request) : refuseForeign(request, allowedOrigins);
    if (foreign !== undefined) return gate.refuse(`not of the same origin (${foreign})`, refusals[foreign]);
    const found = await gate.identify(request, checkOperator);
    if ('refused' in found) return found.refused;
    const { user, can: all } = found.identity;
    const can = all.filter((each) => each !== 'retire' || transport !== undefined);
    if (right === undefined) return { status: 200, body: { user, can } satisfies OperatorBody };
    if (!can.includes(right)) {
      return gate.refuse('a right is missing', failedResult(403, 'ERR_FORBIDDEN', `You may not use ${right}.`));
    }
    const body = await request.readBody({ maxBytes: maxBodyBytes, code: 'ERR_INVALID_ACTION' });
    return perform(right, user, body.json());
  }

  async function perform(right: Right, user: string, json: unknown): Promise<JsonResult> {
    const action = actions[right];
    const body = new ActionBody(json, [...action.fields, 'reason', 'actionId']);
    const [reason, actionId] = [body.name('reason'), body.name('actionId')];
    const actor = { by: user, via: 'page', ...(reason !== undefined && { reason }) };
    const act = async (): Promise<JsonResult> => ({ status: 200, body: await action.perform(parts, body, actor) });
    const isRead = action.isRead === true || body.value('preview') === true;
    if (actionId === undefined || isRead) return act();
    return carryOutOnce(hub.transport.kv, { user, actionId, request: [right, json] }, act);
  }

  return gate.responder(respond);
}
