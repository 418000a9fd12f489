import { OptionChecker } from '../options.js';
import { createRedactor, type Redactor } from '../redaction.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { silentLogger } from '../transports/transport.js';
import { guardLogger } from './guard-logger.js';
import type { HubOptions } from './hub.js';

/** Checked {@link HubOptions} with defaults. */
export type HubSettings = Readonly<Required<Omit<HubOptions, 'redact'>>> & {
  readonly redactor: Redactor;
  /** The caller did not name the service. */
  readonly isDefaultService: boolean;
};

const names = ['service', 'transport', 'logger', 'concurrency', 'maxPayloadBytes', 'allowCycles', 'observer', 'redact'];

/** Checks the options of a hub and fills in defaults. @throws {InvalidOptionError} */
export function resolveHubOptions(options: HubOptions): HubSettings {
  const check = new OptionChecker(options, names, 'createHub');
  const { service = 'hub', transport = memoryTransport(), logger = silentLogger } = options;
  const { concurrency = 100, maxPayloadBytes = 512 * 1024, allowCycles = false, observer = false } = options;
  check.name('service', service);
  check.methods('transport', transport, ['connect']);
  check.methods('logger', logger, ['debug', 'info', 'warn', 'error']);
  check.count('concurrency', concurrency);
  check.count('maxPayloadBytes', maxPayloadBytes);
  check.boolean('allowCycles', allowCycles);
  check.boolean('observer', observer);
  check.function('redact', options.redact);
  const redactor = createRedactor(options.redact);
  const settings = { concurrency, maxPayloadBytes, allowCycles, observer };
  return {
    service,
    isDefaultService: options.service === undefined,
    transport,
    logger: guardLogger(logger, redactor),
    redactor,
    ...settings,
  };
}
