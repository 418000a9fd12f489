import type { EventBody, IntrospectionBody, RangeBody } from '../../server/dashboard/protocol.js';
import { eventBody } from './decoding/decode-event.js';
import { type Introspection, introspection } from './decoding/decode-introspection.js';
import { type RequestTrace, requestTrace } from './decoding/decode-request.js';
import { periodCounts } from './decoding/decode-statistics.js';
import { array, type Decoder, decodeBody, number, object, record, string } from './decoding/decoder.js';
import { RequestError } from './request-error.js';

/** Protocol version that this page reads. */
const PROTOCOL: IntrospectionBody['protocol'] = 2;

/** Counts of a range, by event type. */
export type RangeCounts = Omit<RangeBody, 'protocol'>;

export const rangeCounts: Decoder<RangeCounts> = object<RangeCounts>({
  from: number,
  to: number,
  stepMs: number,
  events: array(object<RangeCounts['events'][number]>({ type: string, counts: periodCounts })),
});

/**
 * Parses the body of `GET /api/introspection?events=columns`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseIntrospection(body: unknown): Introspection {
  checkProtocol(body);
  return decodeBody(introspection, body);
}

/**
 * Parses the body of `GET /api/introspection?from=&to=`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseRange(body: unknown): RangeCounts {
  checkProtocol(body);
  return decodeBody(rangeCounts, body);
}

/**
 * Parses the body of `GET /api/introspection?request=`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseRequest(body: unknown): RequestTrace {
  checkProtocol(body);
  return decodeBody(requestTrace, body);
}

/**
 * Parses the body of a view, such as `GET /api/introspection?view=waits`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseView<T>(decode: Decoder<T>, body: unknown): T {
  checkProtocol(body);
  return decodeBody(decode, body);
}

/**
 * Parses the body of `GET /api/events/:type`.
 *
 * @throws {RequestError} if the shape is not the expected one
 */
export function parseEvent(body: unknown): EventBody {
  return decodeBody(eventBody, body);
}

function checkProtocol(body: unknown): void {
  const { protocol } = decodeBody(record, body);
  if (protocol === PROTOCOL) return;
  const served = typeof protocol === 'number' ? `protocol ${protocol}` : 'an unknown protocol';
  throw new RequestError(
    `This page reads protocol ${PROTOCOL}, but the server sends ${served}. Reload the page to get a matching version.`,
  );
}
