import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const gzipAsync = promisify(gzip);
const maxBodies = 32;
// A body contains the time at which it was read, so an old one must not reach a page.
const maxAgeMs = 1000;

/** Serialized body of a JSON route. */
export interface JsonBody {
  readonly plain: Buffer;
  /** Returns the compressed body. Compresses on the first call. */
  gzipped(): Promise<Buffer>;
}

/** Returns the cached body of `key` if it has this `revision`; otherwise builds it from the result of `read`. */
export type JsonBodyCache = (key: string, revision: string, read: () => Promise<object>) => Promise<JsonBody>;

/**
 * Creates a cache of the last 32 bodies, each retained for one second, so that many open pages cost one serialization.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function createJsonBodyCache(now: () => number = () => performance.now()): JsonBodyCache {
  const cache = new Map<string, { revision: string; readAt: number; body: Promise<JsonBody> }>();

  return (key, revision, read) => {
    const found = cache.get(key);
    if (found?.revision === revision && now() - found.readAt < maxAgeMs) return found.body;
    const body = read().then(jsonBody);
    const entry = { revision, readAt: now(), body };
    cache.delete(key);
    cache.set(key, entry);
    for (const oldest of cache.keys()) {
      if (cache.size <= maxBodies) break;
      cache.delete(oldest);
    }
    // Callers that await the body receive the error. The next call reads again.
    body.catch(() => {
      if (cache.get(key) === entry) cache.delete(key);
    });
    return body;
  };
}

function jsonBody(content: object): JsonBody {
  const plain = Buffer.from(JSON.stringify(content));
  let compressed: Promise<Buffer> | undefined;
  return {
    plain,
    gzipped() {
      compressed ??= gzipAsync(plain);
      return compressed;
    },
  };
}
