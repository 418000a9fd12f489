import { createHash } from 'node:crypto';
import { HubError, type SchemaIssue } from '../../errors.js';
import { SchemaValidationError, UnknownEventError } from '../../hub/errors.js';
import type { EmitOptions } from '../../hub/events/emit.js';
import type { Hub } from '../../hub/hub.js';
import { checkName, isName, OptionChecker } from '../../options.js';
import { StartLog } from '../../transports/start-log.js';
import { failedResult, InvalidRequestError, type JsonResult } from '../json-result.js';
import { isJson, type PostedRequest, type ReceivedBody, type Respond } from '../posted-request.js';
import type { ErrorBody } from '../protocol.js';
import { decodeName, pathBelow } from '../request.js';
import { RequestGate } from '../request-gate.js';
import { checkAccess, type IngestAccess, type ResolvedIngestOptions } from './ingest-options.js';
import { describeTypes } from './openapi.js';

/** Maximum number of events of a request. */
const maxEvents = 1_000;

/** Accepted event in the body of a response. */
export interface IngestedEvent {
  readonly id: string;
  /** The id of the earlier event is returned: nothing was accepted. */
  readonly deduplicated: boolean;
}

/** Refused event in the body of a response. */
export interface RefusedEvent {
  readonly error: ErrorBody['error'] & {
    /** Violations of the schema, at most 100. */
    readonly issues?: readonly SchemaIssue[];
  };
}

/** Body of the response to several events. */
export interface IngestBody {
  readonly accepted: number;
  /** Results of the events, in the same order. */
  readonly events: readonly (IngestedEvent | RefusedEvent)[];
}

const openapiPath = '/openapi.json';

const notFound = failedResult(404, 'ERR_NOT_FOUND', 'Nothing is served at this path.');
const methodNotAllowed = failedResult(405, 'ERR_METHOD_NOT_ALLOWED', 'Events take POST, openapi.json takes GET.');
const notJson = failedResult(415, 'ERR_UNSUPPORTED_MEDIA_TYPE', 'Send JSON with Content-Type: application/json.');
const unsigned = failedResult(401, 'ERR_INVALID_SIGNATURE', 'The signature is missing, wrong, or too old.');
const unknownType = failedResult(404, 'ERR_UNKNOWN_EVENT', 'No event of this type is accepted here.');
const tooMany = failedResult(429, 'ERR_TOO_MANY_EVENTS', 'Too many events within a second. Send it again later.');
const retryAfter = [['Retry-After', '1']] as const;

/** A signature cannot be verified, because the application is wrong and not the sender. */
class UnverifiableError extends HubError {
  constructor(message: string) {
    super('ERR_UNVERIFIABLE', message);
  }
}

/** Event of a request, before it is checked. */
interface Incoming {
  readonly type: unknown;
  readonly payload: unknown;
  readonly options: EmitOptions;
}

/** Result of one event, with the status that it has alone. */
interface Outcome {
  readonly status: number;
  readonly event: IngestedEvent | RefusedEvent;
}

/**
 * Creates the part of an ingest handler that does not depend on how requests arrive: it checks who sends a request, then
 * its signature, then each of its events.
 *
 * @throws {InvalidOptionError} if `hub` is not a hub
 */
export function createIngestCore(hub: Hub, options: ResolvedIngestOptions): Respond<IngestAccess> {
  const { basePath, types, verify, maxBytes, maxPerSecond } = options;
  const gate = new RequestGate('ingest', hub, options.isAllowedHost);
  const { clock } = hub.transport;
  const starts = new StartLog({ max: maxPerSecond, perMs: 1_000 });

  async function respond(request: PostedRequest<IngestAccess>): Promise<JsonResult> {
    const path = request.targets.map((target) => pathBelow(basePath, target)).find((below) => below !== undefined);
    if (path === undefined) return notFound;
    const isDescription = path === openapiPath;
    const method = isDescription ? 'GET' : 'POST';
    if (request.method !== method) return { ...methodNotAllowed, headers: [['Allow', method]] };
    const forbidden = gate.refuseHost(request.host);
    if (forbidden !== undefined) return forbidden;
    if (!isDescription && !isJson(request)) return notJson;
    const found = await gate.identify(request, checkAccess);
    if ('refused' in found) return found.refused;
    if (isDescription) return { status: 200, body: await describeTypes(hub, types.values(), mountOf(request)) };
    const body = await request.readBody({ maxBytes, code: 'ERR_INVALID_REQUEST' });
    const verified = await verifySignature(request, body);
    if (verified === undefined) return gate.refuse('the signature is not valid', unsigned);
    const idempotencyKey = verified.id ?? unquoted(request.header('idempotency-key'));
    if (idempotencyKey === '') throw new InvalidRequestError('ERR_INVALID_REQUEST', 'the idempotency key is empty');
    return path === '/'
      ? ingestMany(body.json(), found.identity, idempotencyKey)
      : ingestOne(path.slice(1), body.json(), found.identity, idempotencyKey);
  }

  /** Returns the id of the delivery; `undefined` if the signature is not valid. */
  async function verifySignature(
    request: PostedRequest<IngestAccess>,
    { raw }: ReceivedBody,
  ): Promise<{ readonly id?: string | undefined } | undefined> {
    if (verify === undefined) return {};
    if (raw === undefined) {
      throw new UnverifiableError(
        'a handler with verify got a parsed body: mount it before parsers, or keep req.rawBody',
      );
    }
    const verified: unknown = await verify({ body: raw, header: request.header, now: clock.now() });
    // An application's function may return anything: nothing but a delivery lets a request pass.
    if (verified === null || verified === undefined || verified === false) return undefined;
    const { id } = Object(verified) as { readonly id?: unknown };
    const isDelivery = typeof verified === 'object' && (id === undefined || typeof id === 'string');
    if (!isDelivery) throw new UnverifiableError('verify must return { id? }, or null to refuse the request');
    return { id };
  }

  async function ingestOne(
    name: string,
    payload: unknown,
    client: string,
    idempotencyKey: string | undefined,
  ): Promise<JsonResult> {
    const { status, event } = await accept({ type: decodeName(name), payload, options: {} }, client, idempotencyKey);
    return { status, body: event, ...(status === 429 && { headers: retryAfter }) };
  }

  async function ingestMany(json: unknown, client: string, idempotencyKey: string | undefined): Promise<JsonResult> {
    const events: readonly unknown[] = Array.isArray(json) ? json : [json];
    if (events.length === 0 || events.length > maxEvents) {
      throw new InvalidRequestError('ERR_INVALID_REQUEST', `send an event, or a list of 1 to ${maxEvents} events`);
    }
    const keyOf = (index: number): string | undefined =>
      idempotencyKey === undefined || !Array.isArray(json) ? idempotencyKey : `${idempotencyKey}:${index}`;
    const outcomes = await Promise.all(
      events.map(async (event, index): Promise<Outcome> => {
        try {
          const { id = keyOf(index), ...incoming } = readEvent(event);
          return await accept(incoming, client, id);
        } catch (error) {
          return refusal(error);
        }
      }),
    );
    const accepted = outcomes.filter(({ status }) => status === 202).length;
    const worst = Math.max(...outcomes.map(({ status }) => status));
    const body: IngestBody = { accepted, events: outcomes.map(({ event }) => event) };
    const headers = outcomes.some(({ status }) => status === 429) ? retryAfter : [];
    if (accepted === outcomes.length) return { status: 202, body };
    return { status: accepted > 0 ? 207 : worst, body, headers };
  }

  /** @param client sender whose idempotency keys are its own; empty if senders share them */
  async function accept(event: Incoming, client: string, idempotencyKey: string | undefined): Promise<Outcome> {
    const target = typeof event.type === 'string' ? types.get(event.type) : undefined;
    if (target === undefined) return { status: unknownType.status, event: errorIn(unknownType) };
    const now = clock.monotonic();
    if (starts.openAt > now) return { status: tooMany.status, event: errorIn(gate.refuse('maxPerSecond', tooMany)) };
    starts.countStart(now);
    const dedupe = idempotencyKey === undefined ? {} : { dedupeId: dedupeIdOf(client, idempotencyKey) };
    try {
      const { id, deduplicated } = await hub.emit(target, event.payload as never, { ...event.options, ...dedupe });
      return { status: 202, event: { id, deduplicated } };
    } catch (error) {
      return refusal(error);
    }
  }

  function refusal(error: unknown): Outcome {
    const { status, body } = gate.failure(error);
    // The message of the hub names similar types, which the sender need not know.
    if (UnknownEventError.is(error)) {
      return {
        status: unknownType.status,
        event: errorIn(gate.refuse('an event of types is not registered', unknownType)),
      };
    }
    const { error: shown } = body as ErrorBody; // a failed result has this body
    if (!SchemaValidationError.is(error)) return { status, event: { error: shown } };
    // It is the sender's own payload, so the sender may see the values that the messages name.
    return { status, event: { error: { ...shown, message: error.message, issues: error.issues } } };
  }

  return gate.responder(respond);
}

const eventFields = ['type', 'payload', 'id', 'requestId', 'delayMs', 'priority'];

/** @throws {InvalidOptionError} */
function readEvent(value: unknown): Incoming & { readonly id?: string } {
  const check = new OptionChecker(value, eventFields, 'an event of the request');
  const { type, payload, id, requestId, delayMs, priority } = value as Partial<Record<string, unknown>>; // an object
  check.required('payload', payload);
  check.name('id', id);
  // `emit` checks the values.
  const options = {
    ...(requestId !== undefined && { requestId }),
    ...(delayMs !== undefined && { delayMs }),
    ...(priority !== undefined && { priority }),
  } as EmitOptions;
  return { type, payload, options, ...(isName(id) && { id }) };
}

function errorIn({ body }: JsonResult): RefusedEvent {
  return body as ErrorBody; // a failed result has this body
}

/**
 * Returns the key of an event among those of all senders. Of a client it is a hash, because names and keys together are
 * longer than a `dedupeId` may be.
 */
function dedupeIdOf(client: string, key: string): string {
  if (client === '') return key;
  checkName(key, 'idempotency key');
  return createHash('sha256')
    .update(JSON.stringify([client, key]))
    .digest('base64url');
}

/** Returns the key of a header, which may be a quoted string (RFC 8941). */
function unquoted(header: string | undefined): string | undefined {
  return header?.replace(/^"(.*)"$/, '$1');
}

/** Returns the path of the mount as the client sees it. */
function mountOf({ targets }: PostedRequest<unknown>): string {
  const [path = ''] = (targets.at(-1) ?? '').split('?');
  return path.slice(0, -openapiPath.length).replace(/^https?:\/\/[^/]*/i, '') || '/';
}
