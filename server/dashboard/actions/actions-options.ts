import type { IncomingMessage } from 'node:http';
import { InvalidOptionError } from '../../errors.js';
import { isName, OptionChecker } from '../../options.js';
import type { RetireOptions, RetireResult } from '../../transports/services.js';
import { createHostCheck, type HostCheck } from '../access-guard.js';
import type { ContentPart, OperatorBody, Right } from '../protocol.js';
import { normalizeBasePath } from '../request.js';

/** All rights. */
export const rights: readonly Right[] = [
  'replay',
  'cancel',
  'fork',
  'pause',
  'resume',
  'approve',
  'retire',
  'erase',
  'payload',
  'search',
  'audit',
];

/** Person or program that may act, and its rights: result of `authorize`. The audit has the name. */
export type Operator = OperatorBody;

/** Transport that ends the subscriptions of services which will not return: that of SQLite, Redis or Postgres. */
export interface RetiringTransport {
  /** Ends all subscriptions of a service, or those to some types. */
  retire(service: string, options?: RetireOptions): Promise<RetireResult>;
}

/** Options of every actions handler. */
export interface CommonActionsOptions {
  /**
   * Path at which the handler is mounted. `ops`, `/ops` and `/ops/` are the same path. A framework that strips the path
   * from `req.url`, such as Express, needs no `basePath`.
   *
   * @default '/'
   */
  basePath?: string;
  /** Values of the `Host` header that the handler answers; others get 403. @default every host */
  allowedHosts?: readonly string[];
  /**
   * Origins of the pages that may act, such as `["https://ops.example.com"]`, behind a proxy that changes the `Host`
   * header. @default the origin whose host is that of the request
   */
  allowedOrigins?: readonly string[];
  /**
   * Returns what an operator with the right `payload` sees of a payload, a result, an output of a step or the arguments of
   * a call. If it throws, the content is withheld.
   *
   * @param type event type, or name of the workflow
   * @default as it is stored
   */
  formatPayload?: (type: string, content: unknown, part: ContentPart) => unknown;
  /** Transport of the hub, which carries out `retire`. Without it nobody has that right. */
  transport?: RetiringTransport;
}

/** Options of `createActionsHandler`. */
export interface ActionsOptions extends CommonActionsOptions {
  /**
   * Returns who sends the request and what the user may do, or `null`, which leads to 401. A throw or a rejection leads to
   * 500, no result within 10 seconds to 503. Called before every request that passes the checks of its origin.
   */
  authorize: (req: IncomingMessage) => Operator | null | Promise<Operator | null>;
}

/** Options of `createActionsFetch`. */
export interface ActionsFetchOptions extends CommonActionsOptions {
  /** As {@link ActionsOptions.authorize}, for a request of the Fetch API. */
  authorize: (request: Request) => Operator | null | Promise<Operator | null>;
}

/** Checked options that do not depend on the kind of request. */
export interface ResolvedActionsOptions extends Pick<CommonActionsOptions, 'formatPayload' | 'transport'> {
  /** Normalized. */
  readonly basePath: string;
  readonly isAllowedHost: HostCheck;
  readonly allowedOrigins: ReadonlySet<string> | undefined;
}

const names: readonly (keyof ActionsOptions)[] = [
  'basePath',
  'authorize',
  'allowedHosts',
  'allowedOrigins',
  'formatPayload',
  'transport',
];

/** Checks the options. @param owner function that receives them @throws {InvalidOptionError} */
export function resolveActionsOptions(
  options: ActionsOptions | ActionsFetchOptions,
  owner: string,
): ResolvedActionsOptions {
  const check = new OptionChecker(options, names, owner);
  const { basePath = '/', authorize, allowedHosts, allowedOrigins, formatPayload, transport } = options;
  check.required('authorize', authorize);
  check.function('authorize', authorize);
  check.function('formatPayload', formatPayload);
  check.methods('transport', transport, ['retire']);
  return {
    basePath: normalizeBasePath(basePath),
    isAllowedHost: createHostCheck(allowedHosts),
    allowedOrigins: checkOrigins(allowedOrigins),
    ...(formatPayload !== undefined && { formatPayload }),
    ...(transport !== undefined && { transport }),
  };
}

function checkOrigins(origins: unknown): ReadonlySet<string> | undefined {
  if (origins === undefined) return undefined;
  const isOrigin = (value: unknown): value is string =>
    typeof value === 'string' && URL.canParse(value) && new URL(value).origin === value;
  if (Array.isArray(origins) && origins.length > 0 && origins.every(isOrigin)) return new Set(origins);
  const got = Array.isArray(origins) ? JSON.stringify(origins) : origins;
  throw new InvalidOptionError('allowedOrigins', 'origins such as ["https://ops.example.com"]', got);
}

/** Returns what `authorize` returned, checked; `null` for nobody. @throws {InvalidOptionError} */
export function checkOperator(value: unknown): Operator | null {
  if (value === null) return null;
  const { user, can } = Object(value) as Partial<Record<keyof Operator, unknown>>;
  if (!isName(user)) throw new InvalidOptionError('user of authorize', 'a name of 1 to 512 characters', user);
  const isRight = (right: unknown): right is Right => (rights as readonly unknown[]).includes(right);
  if (!Array.isArray(can)) throw new InvalidOptionError('can of authorize', 'a list of rights', can);
  const unknown = can.findIndex((right) => !isRight(right));
  if (unknown >= 0) throw new InvalidOptionError('can of authorize', `some of ${rights.join(', ')}`, can[unknown]);
  return { user, can: rights.filter((right) => can.includes(right)) };
}
