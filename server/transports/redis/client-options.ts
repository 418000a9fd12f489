import type { RedisOptions } from 'ioredis';
import type { OptionChecker } from '../../options.js';

/** Options of ioredis that the transport sets itself, or with which it cannot work. */
export type RefusedOption =
  | 'autoPipeliningIgnoredCommands'
  | 'autoResendUnfulfilledCommands'
  | 'autoResubscribe'
  | 'blockingTimeout'
  | 'blockingTimeoutGrace'
  | 'commandQueue'
  | 'commandTimeout'
  | 'Connector'
  | 'enableAutoPipelining'
  | 'enableOfflineQueue'
  | 'enableReadyCheck'
  | 'himportFieldsets'
  | 'keyPrefix'
  | 'lazyConnect'
  | 'maxLoadingRetryTime'
  | 'maxRetriesPerRequest'
  | 'monitor'
  | 'offlineQueue'
  | 'preferredSlaves'
  | 'readOnly'
  | 'reconnectOnError'
  | 'replyMapping'
  | 'retryStrategy'
  | 'scripts'
  | 'sentinelRetryStrategy'
  | 'socketTimeout'
  | 'stringNumbers';

/** Options of ioredis that concern the connection. The transport sets the others itself. */
export type ClientOptions = Omit<RedisOptions, RefusedOption>;

// Longest delay of a timer of Node.
const maxTimerMs = 2 ** 31 - 1;
const timer = { min: 1, max: maxTimerMs };

const repeats = 'left out: the transport repeats commands itself, within emitTimeoutMs';
const reconnects = 'left out: the transport connects again by itself';
const replies = 'left out: the transport reads replies in one form';
const unused = 'left out: the transport does not use it';

/** The reasons, with the way out. */
const refused: Readonly<Record<RefusedOption, string>> = {
  autoPipeliningIgnoredCommands: 'left out: the transport batches commands itself',
  autoResendUnfulfilledCommands: repeats,
  autoResubscribe: reconnects,
  blockingTimeout: 'left out: use emitTimeoutMs',
  blockingTimeoutGrace: 'left out: use emitTimeoutMs',
  commandQueue: unused,
  commandTimeout: 'left out: use emitTimeoutMs',
  Connector: 'left out: use host and port, path, or sentinels',
  enableAutoPipelining: 'left out: the transport batches commands itself',
  enableOfflineQueue: repeats,
  enableReadyCheck: reconnects,
  himportFieldsets: unused,
  keyPrefix: 'left out: use prefix',
  lazyConnect: 'left out: the transport connects at its first command',
  maxLoadingRetryTime: reconnects,
  maxRetriesPerRequest: repeats,
  monitor: unused,
  offlineQueue: unused,
  preferredSlaves: 'left out: the transport writes, so it needs the primary',
  readOnly: 'left out: the transport writes',
  reconnectOnError: reconnects,
  replyMapping: replies,
  retryStrategy: reconnects,
  scripts: unused,
  sentinelRetryStrategy: reconnects,
  socketTimeout: 'left out: use emitTimeoutMs',
  stringNumbers: replies,
};

type Check = (check: OptionChecker, option: string, value: unknown) => void;

const isBoolean: Check = (check, option, value) => check.boolean(option, value);
const isTimer: Check = (check, option, value) => check.count(option, value, timer);
const isFilledText: Check = (check, option, value) =>
  check.that(value === undefined || (typeof value === 'string' && value !== ''), option, 'a string', value);
// The errors name the type only: the value may be a secret.
const isSecret: Check = (check, option, value) =>
  check.that(value === undefined || typeof value === 'string', option, 'a string', typeof value);
const isTls: Check = (check, option, value) =>
  check.that(value === undefined || isObject(value), option, 'options of tls.connect', typeof value);
// Redis refuses other names, which ioredis ignores.
const isClientName: Check = (check, option, value) =>
  check.that(
    value === undefined || (typeof value === 'string' && /^[!-~]+$/.test(value)),
    option,
    'printable ASCII without spaces',
    value,
  );

const accepted: Readonly<Record<keyof ClientOptions, Check>> = {
  clientInfoTag: isClientName,
  connectionName: isClientName,
  connectTimeout: isTimer,
  db: (check, option, value) => check.count(option, value, { min: 0 }),
  disableClientInfo: isBoolean,
  disconnectTimeout: isTimer,
  enableTLSForSentinelMode: isBoolean,
  failoverDetector: isBoolean,
  family: (check, option, value) => check.that(isOneOf(value, [0, 4, 6]), option, '0, 4 or 6', value),
  host: isFilledText,
  keepAlive: (check, option, value) => check.count(option, value, { min: 0, max: maxTimerMs }),
  name: isFilledText,
  natMap: (check, option, value) =>
    check.that(
      value === undefined || isObject(value) || typeof value === 'function',
      option,
      'an object or a function',
      value,
    ),
  noDelay: isBoolean,
  password: isSecret,
  path: isFilledText,
  port: (check, option, value) => check.count(option, value, { max: 65_535 }),
  protocol: (check, option, value) => check.that(isOneOf(value, [2, 3]), option, '2 or 3', value),
  role: (check, option, value) =>
    check.that(isOneOf(value, ['master']), option, '"master": the transport writes', value),
  sentinelCommandTimeout: isTimer,
  sentinelMaxConnections: (check, option, value) => check.count(option, value),
  sentinelPassword: isSecret,
  sentinelReconnectStrategy: (check, option, value) => check.function(option, value),
  sentinels: (check, option, value) =>
    check.that(value === undefined || areSentinels(value), option, 'a list of { host, port }', value),
  sentinelTLS: isTls,
  sentinelUsername: isSecret,
  showFriendlyErrorStack: isBoolean,
  tls: isTls,
  updateSentinels: isBoolean,
  username: isSecret,
};

/** Names of all options of ioredis. */
export const clientOptionNames: readonly string[] = [...Object.keys(accepted), ...Object.keys(refused)];

/** @throws {InvalidOptionError} */
export function checkClientOptions(check: OptionChecker, client: ClientOptions): void {
  // Users without TypeScript pass the others too.
  const given: RedisOptions = client;
  for (const [name, reason] of Object.entries(refused)) {
    const value: unknown = Reflect.get(given, name);
    check.that(value === undefined, name, reason, value);
  }
  for (const [name, checkOption] of Object.entries(accepted)) checkOption(check, name, Reflect.get(given, name));
  const { sentinels, name } = client;
  check.that(sentinels === undefined || name !== undefined, 'name', 'the name of the primary, with sentinels', name);
}

/**
 * Returns the options that a URL stands for. ioredis would take any option from its query, and a path that is no number
 * for a database.
 *
 * @throws {InvalidOptionError} that shows no user and no password
 */
export function readUrl(check: OptionChecker, url: unknown): ClientOptions {
  const isUrl = typeof url === 'string' && /^rediss?:\/\//.test(url) && URL.canParse(url);
  const user = isUrl ? decodeUser(new URL(url)) : undefined;
  const expected = 'an address such as redis://127.0.0.1:6379, with a percent-encoded user and password (%25 for %)';
  check.that(user !== undefined, 'url', expected, typeof url);
  const { protocol, hostname, port, pathname, searchParams, hash } = new URL(String(url));
  const database = /^\/?(\d{0,9})$/.exec(pathname)?.[1];
  check.that(database !== undefined, 'path of url', 'the number of a database, such as /0', pathname);
  const names = [...searchParams.keys()].filter((name) => name !== 'family');
  check.that(names.length === 0 && hash === '', 'query of url', 'left out: use client', names[0] ?? hash);
  const family = searchParams.get('family');
  check.that(family === null || /^[046]$/.test(family), 'family of url', '0, 4 or 6', family);
  return {
    ...user,
    ...(hostname !== '' && { host: hostname.replace(/^\[(.*)\]$/, '$1') }),
    ...(port !== '' && { port: Number(port) }),
    ...(database !== '' && { db: Number(database) }),
    ...(family !== null && { family: Number(family) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}

/** Returns user and password of a URL, `undefined` if they are not percent-encoded. */
function decodeUser({ username, password }: URL): ClientOptions | undefined {
  if (username === '' && password === '') return {};
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}

function isOneOf(value: unknown, values: readonly unknown[]): boolean {
  return value === undefined || values.includes(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function areSentinels(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((each: unknown) => isObject(each) && typeof Reflect.get(each, 'host') === 'string');
}
