import { randomUUID } from 'node:crypto';
import { acceptsEncoding } from '../http/accept-encoding.js';
import { matchesEtag } from '../http/etag.js';
import type { DashboardRequest, DashboardResponse, Header } from '../http/response.js';
import { createJsonBodyCache, type JsonSource } from './json-body-cache.js';

const gzipAboveBytes = 1024;

/**
 * Creates a function that responds with the JSON of a source, or with 304 if the client already has its revision. A 304
 * costs neither a read nor a serialization.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function createJsonResponder(
  now: () => number,
): (request: DashboardRequest, source: JsonSource) => Promise<DashboardResponse> {
  // Tags of another handler, or of this process before a restart, must not match.
  const instance = randomUUID();
  const cached = createJsonBodyCache(now);

  return async (request, source) => {
    const { revision, body: readBody } = await cached(source);
    // Weak, because bodies of one revision differ in the time at which they were read.
    const etag = `W/"${instance}-${revision}"`;
    const validators: Header[] = [
      ['ETag', etag],
      ['Vary', 'Accept-Encoding'],
    ];
    if (matchesEtag(request.ifNoneMatch, etag)) return { status: 304, headers: validators };
    const body = await readBody();
    const headers: Header[] = [['Content-Type', 'application/json; charset=utf-8'], ...validators];
    if (body.plain.length <= gzipAboveBytes || !acceptsEncoding(request.acceptEncoding, 'gzip')) {
      return { status: 200, headers, body: body.plain };
    }
    headers.push(['Content-Encoding', 'gzip']);
    return { status: 200, headers, body: await body.gzipped() };
  };
}
