import { randomUUID } from 'node:crypto';
import { acceptsEncoding } from '../http/accept-encoding.js';
import { matchesEtag } from '../http/etag.js';
import type { Answer, DashboardRequest, Header } from '../http/response.js';
import { createJsonBodyCache } from './json-body-cache.js';

/** JSON that is read from the hub, and how to tell that it changed. */
export interface JsonSource {
  /** Names the source among all sources. */
  readonly key: string;
  /** Changes whenever what `read` gives would, the time of reading aside. */
  revision(): Promise<string>;
  read(): Promise<object>;
}

const gzipOverBytes = 1024;

/**
 * Answers with JSON from a source, or with 304 where the client has its revision already: that costs
 * neither a read nor a serialisation.
 */
export function createJsonAnswers(): (request: DashboardRequest, source: JsonSource) => Promise<Answer> {
  // No tag from another handler, or from this process before a restart, can match.
  const instance = randomUUID();
  const cached = createJsonBodyCache();

  return async (request, source) => {
    // Before the content: a tag older than its body costs one more request, a newer one would hide a change.
    const revision = await source.revision();
    // Weak, for bodies of one revision differ in the time at which they were read.
    const etag = `W/"${instance}-${revision}"`;
    const validators: Header[] = [
      ['ETag', etag],
      ['Vary', 'Accept-Encoding'],
    ];
    if (matchesEtag(request.ifNoneMatch, etag)) return { status: 304, headers: validators };
    const body = await cached(source.key, revision, source.read);
    const headers: Header[] = [['Content-Type', 'application/json; charset=utf-8'], ...validators];
    if (body.plain.length <= gzipOverBytes || !acceptsEncoding(request.acceptEncoding, 'gzip')) {
      return { status: 200, headers, body: body.plain };
    }
    headers.push(['Content-Encoding', 'gzip']);
    return { status: 200, headers, body: await body.gzipped() };
  };
}
