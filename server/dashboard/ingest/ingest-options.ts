import type { IncomingMessage } from 'node:http';
import { InvalidOptionError } from '../../errors.js';
import type { EventRef } from '../../hub/events/emit.js';
import { isName, OptionChecker } from '../../options.js';
import { createHostCheck, type HostCheck } from '../access-guard.js';
import { normalizeBasePath } from '../request.js';
import type { SignatureCheck } from './webhook-signatures.js';

/** Sender of events: result of `authorize` if several senders must not share their `Idempotency-Key`. */
export interface IngestClient {
  /** Name of the sender, 1 to 256 characters. Each sender has idempotency keys of its own. */
  readonly client: string;
}

/** Result of `authorize`: `true` and a client may emit, `false` and `null` lead to 401. */
export type IngestAccess = boolean | IngestClient | null;

/** Options of every ingest handler. */
export interface CommonIngestOptions {
  /** Event types that may be emitted: names, or definitions of `createEvent`. Others get 404. */
  types: readonly (EventRef<never, unknown> | string)[];
  /**
   * Verifies the signature of each request, after `authorize`: {@link verifyStripe}, {@link verifyGitHub},
   * {@link verifyStandardWebhooks}, or a function of the application. `null` leads to 401, a throw to 500. Needs the body as
   * it arrived: mount the handler before parsers, or keep the bytes as `rawBody`.
   */
  verify?: SignatureCheck;
  /**
   * Path at which the handler is mounted. `hooks`, `/hooks` and `/hooks/` are the same path. A framework that strips the
   * path from `req.url`, such as Express, needs no `basePath`.
   *
   * @default '/'
   */
  basePath?: string;
  /** Values of the `Host` header that the handler answers; others get 403. @default every host */
  allowedHosts?: readonly string[];
  /** Maximum size of the body of a request, in bytes. @default 1_048_576 (1 MiB) */
  maxBytes?: number;
  /** Maximum number of events that this handler accepts in any second. Others get 429. @default 1_000 */
  maxPerSecond?: number;
}

/** Options of `createIngestHandler`. */
export interface IngestOptions extends CommonIngestOptions {
  /**
   * Returns if the sender may emit. Called before the body is read. A throw or a rejection leads to 500, no result within
   * 10 seconds to 503. With `verify`, the signature may suffice: `() => true`.
   */
  authorize: (req: IncomingMessage) => IngestAccess | Promise<IngestAccess>;
}

/** Options of `createIngestFetch`. */
export interface IngestFetchOptions extends CommonIngestOptions {
  /** As {@link IngestOptions.authorize}, for a request of the Fetch API. */
  authorize: (request: Request) => IngestAccess | Promise<IngestAccess>;
}

/** Checked options that do not depend on the kind of request. */
export interface ResolvedIngestOptions {
  /** Normalized. */
  readonly basePath: string;
  readonly isAllowedHost: HostCheck;
  /** By their names. */
  readonly types: ReadonlyMap<string, EventRef<never, unknown> | string>;
  readonly verify: SignatureCheck | undefined;
  readonly maxBytes: number;
  readonly maxPerSecond: number;
}

const names: readonly (keyof IngestOptions)[] = [
  'authorize',
  'types',
  'verify',
  'basePath',
  'allowedHosts',
  'maxBytes',
  'maxPerSecond',
];

const maxMaxBytes = 67_108_864;
const maxMaxPerSecond = 1_000_000;

/** Checks the options. @param owner function that receives them @throws {InvalidOptionError} */
export function resolveIngestOptions(
  options: IngestOptions | IngestFetchOptions,
  owner: string,
): ResolvedIngestOptions {
  const check = new OptionChecker(options, names, owner);
  const { basePath = '/', authorize, allowedHosts, verify, maxBytes = 1_048_576, maxPerSecond = 1_000 } = options;
  check.required('authorize', authorize);
  check.function('authorize', authorize);
  check.function('verify', verify);
  check.count('maxBytes', maxBytes, { max: maxMaxBytes });
  check.count('maxPerSecond', maxPerSecond, { max: maxMaxPerSecond });
  const { types } = options;
  check.that(Array.isArray(types) && types.length > 0, 'types', 'names or definitions of events, one or more', types);
  const named = types.map((target) => {
    const name: unknown = typeof target === 'string' ? target : target?.type;
    if (!isName(name)) throw new InvalidOptionError(`types of ${owner}`, 'names or definitions of events', target);
    return [name, target] as const;
  });
  return {
    basePath: normalizeBasePath(basePath),
    isAllowedHost: createHostCheck(allowedHosts),
    types: new Map(named),
    verify,
    maxBytes,
    maxPerSecond,
  };
}

const maxClientLength = 256;

/**
 * Returns the name of a sender with idempotency keys of its own, which is empty for `true`; `null` for nobody.
 *
 * @throws {InvalidOptionError}
 */
export function checkAccess(answer: unknown): string | null {
  if (answer === true) return '';
  if (answer === false || answer === null) return null;
  const { client } = Object(answer) as { readonly client?: unknown };
  if (isName(client) && client.length <= maxClientLength) return client;
  throw new InvalidOptionError('result of authorize', 'true, false, null or { client }', answer, 'type');
}
