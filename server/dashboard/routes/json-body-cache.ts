import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const gzipAsync = promisify(gzip);
const keptBodies = 32;
// A body holds the time at which it was read; a page that opens must not be told a long past one.
const keptForMs = 1000;

/** JSON of something that the hub was asked. */
export interface JsonBody {
  readonly plain: Buffer;
  /** Compresses at the first call. */
  gzipped(): Promise<Buffer>;
}

/** Gives the kept body of `key` where it is of this `revision`; makes it of what `read` resolves with otherwise. */
export type JsonBodyCache = (key: string, revision: string, read: () => Promise<object>) => Promise<JsonBody>;

/**
 * Keeps the last 32 bodies, each for a second, so that many open pages cost one serialisation.
 *
 * @param now milliseconds from an arbitrary point
 */
export function createJsonBodyCache(now: () => number = () => performance.now()): JsonBodyCache {
  const kept = new Map<string, { revision: string; readAt: number; body: Promise<JsonBody> }>();

  return (key, revision, read) => {
    const found = kept.get(key);
    if (found?.revision === revision && now() - found.readAt < keptForMs) return found.body;
    const body = read().then(jsonBody);
    const entry = { revision, readAt: now(), body };
    kept.delete(key);
    kept.set(key, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= keptBodies) break;
      kept.delete(oldest);
    }
    // Whoever awaits the body gets the failure; the next to ask reads anew.
    body.catch(() => {
      if (kept.get(key) === entry) kept.delete(key);
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
