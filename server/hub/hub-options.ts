import { InvalidOptionError } from '../errors.js';
import { checkOptionNames } from '../option-names.js';
import { silentLogger } from '../transports/logger.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { checkTypeName } from './events/type-name.js';
import { guardLogger } from './guard-logger.js';
import type { HubOptions } from './hub.js';

/** {@link HubOptions}, checked and complete. */
export type HubSettings = Readonly<Required<HubOptions>>;

const names = ['service', 'transport', 'logger', 'concurrency', 'maxPayloadBytes', 'allowCycles', 'observer'];

/** @throws {InvalidOptionError} */
export function resolveHubOptions(options: HubOptions): HubSettings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError('options of createHub', 'an object', options);
  }
  const { service = 'hub', transport = memoryTransport(), logger = silentLogger } = options;
  const { concurrency = 100, maxPayloadBytes = 512 * 1024, allowCycles = false, observer = false } = options;
  checkOptionNames(options, names, 'createHub');
  checkTypeName(service, 'service');
  checkMethods(transport, ['connect'], 'transport', 'a transport, such as memoryTransport()');
  checkMethods(logger, ['debug', 'info', 'warn', 'error'], 'logger', 'an object with debug, info, warn and error');
  checkCount(concurrency, 'concurrency');
  checkCount(maxPayloadBytes, 'maxPayloadBytes');
  checkBoolean(allowCycles, 'allowCycles');
  checkBoolean(observer, 'observer');
  return { service, transport, logger: guardLogger(logger), concurrency, maxPayloadBytes, allowCycles, observer };
}

function checkMethods(value: unknown, methods: readonly string[], option: string, expected: string): void {
  const isOk =
    typeof value === 'object' &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
  if (!isOk) throw new InvalidOptionError(option, expected, value);
}

function checkCount(value: unknown, option: string): void {
  if (!(typeof value === 'number' && Number.isInteger(value) && value >= 1)) {
    throw new InvalidOptionError(option, 'a whole number, 1 or more', value);
  }
}

function checkBoolean(value: unknown, option: string): void {
  if (typeof value !== 'boolean') throw new InvalidOptionError(option, 'true or false', value);
}
