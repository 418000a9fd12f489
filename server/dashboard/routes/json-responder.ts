import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsEncoding, matchesEtag } from '../request.js';
import type { DashboardRequest, DashboardResponse, Header } from '../response.js';
import { LookupLimit } from './lookup-limit.js';
import { NotRetainedError } from './read-bodies.js';

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

// Runs in the thread pool of Node, beside the event loop.
const gzipAsync = promisify(gzip);
// Takes a third of the time of the default level, and bodies are less than a tenth larger.
const gzipLevel = 3;
const maxBodies = 32;
// Pages poll every second or less often, so none sees a body that is older than its interval.
const maxAgeMs = 1000;

/** JSON that is read from the hub, with a revision that tells if it changed. */
export interface JsonSource {
  /** Unique name of the source. */
  readonly key: string;
  /** The caller chooses one of many sources, such as by an id: all of them together are limited. */
  readonly isLookup?: boolean;
  /** Changes whenever the result of `read` changes, apart from the time of reading. */
  revision(): Promise<string>;
  read(): Promise<object>;
}

/** Serialized body of a JSON route. */
export interface JsonBody {
  readonly plain: Buffer;
  /** Returns the compressed body. Compresses on the first call. */
  gzipped(): Promise<Buffer>;
}

/** Revision of a source, and its body. */
export interface CachedJson {
  readonly revision: string;
  /** Returns the body. Reads it on the first call. */
  body(): Promise<JsonBody>;
}

/**
 * Creates a cache of the last 32 sources. Revision and body of a source are served for one second, whatever changes: any
 * number of open pages costs one read and one serialization per second, however many events flow. That nothing is
 * retained is served for a second too.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function createJsonBodyCache(now: () => number): (source: JsonSource) => Promise<CachedJson> {
  const limit = new LookupLimit(now);
  const cache = new Map<string, { readonly readAt: number; readonly json: Promise<CachedJson> }>();

  function add(source: JsonSource, readAt: number): Promise<CachedJson> {
    const { key } = source;
    const forget = (): void => {
      if (cache.get(key) === entry) cache.delete(key);
    };
    const json = readJson(source.isLookup === true ? limited(source, limit) : source, forget);
    const entry = { readAt, json };
    cache.delete(key);
    cache.set(key, entry);
    for (const oldest of cache.keys()) {
      if (cache.size <= maxBodies) break;
      cache.delete(oldest);
    }
    // Callers that await the result receive the error. The next call reads again.
    json.catch(forget);
    return json;
  }

  return (source) => {
    const found = cache.get(source.key);
    return found !== undefined && now() - found.readAt < maxAgeMs ? found.json : add(source, now());
  };
}

function limited(source: JsonSource, limit: LookupLimit): JsonSource {
  return {
    key: source.key,
    async revision() {
      limit.begin();
      return limit.read(() => source.revision());
    },
    read: () => limit.read(() => source.read()),
  };
}

async function readJson(source: JsonSource, onFailure: () => void): Promise<CachedJson> {
  // Read before the content: an older tag costs one more request, a newer one would hide a change.
  const revision = await source.revision();
  let reading: Promise<JsonBody> | undefined;
  return {
    revision,
    body() {
      if (reading === undefined) {
        reading = source.read().then(jsonBody);
        reading.catch((error: unknown) => {
          if (!(error instanceof NotRetainedError)) onFailure();
        });
      }
      return reading;
    },
  };
}

function jsonBody(content: object): JsonBody {
  const plain = Buffer.from(JSON.stringify(content));
  let compressed: Promise<Buffer> | undefined;
  return {
    plain,
    gzipped() {
      compressed ??= gzipAsync(plain, { level: gzipLevel });
      return compressed;
    },
  };
}
