import { OptionChecker } from '../options.js';
import { createRedactor, type Redact, type Redactor } from '../redaction.js';
import type { BlobStore } from '../transports/blobs/blob-store.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { type Logger, silentLogger, type Transport } from '../transports/transport.js';
import { consoleLogger, defaultLogger } from './console-logger.js';
import type { Failure } from './events/follow-ups.js';
import { guardLogger } from './guard-logger.js';
import { defaultRelease } from './introspection/releases.js';

/** Options of `createHub`. */
export interface HubOptions {
  /**
   * Service (consumer group) of the hub. Hubs of one service share the work; each service receives every event it
   * handles.
   * @default 'hub'
   */
  service?: string;
  /** Transport that stores and delivers the events. @default memoryTransport() */
  transport?: Transport;
  /**
   * Logger with the interface of pino, such as pino itself or `console`, which gets the message before its fields;
   * `false` for no output.
   *
   * @default a line on stderr for each warning and error, at most 20 per second: type, id, attempt and message
   */
  logger?: Logger | false;
  /**
   * Maximum number of handlers that run at once in this hub, not counting types with their own `concurrency` or
   * `rate`.
   * @default 100
   */
  concurrency?: number;
  /**
   * Maximum size of one payload as JSON, in bytes of UTF-8.
   *
   * @default 524_288 (512 KiB), or 67_108_864 (64 MiB) with `blobs`
   */
  maxPayloadBytes?: number;
  /**
   * Store of large payloads, results and outputs of steps, such as a bucket or `folderBlobs(path)`: the transport has a
   * reference in their place. All hubs of a transport need the same store. @default none
   */
  blobs?: BlobStore;
  /** Size above which a content goes to `blobs`, as JSON in bytes of UTF-8. @default 524_288 (512 KiB) */
  blobsAboveBytes?: number;
  /**
   * Allows `onSuccess`, `onFailure` and `onComplete` to form cycles. The depth limit still ends each chain.
   * @default false
   */
  allowCycles?: boolean;
  /**
   * Makes the hub read-only. It cannot register or emit, and shows what the other hubs of the transport register.
   * It can replay dead letters of its own `service`, and cancel events and runs of any.
   * @default false
   */
  observer?: boolean;
  /**
   * Release of the application that this process runs, 1 to 512 characters: shown with its process, with failures and
   * their groups, and as a mark on charts. Stored as it is, also with a codec.
   * @default the environment variable `HUBLINE_RELEASE`, or else the version of the nearest `package.json` above the main
   * module
   */
  release?: string;
  /**
   * Returns name, message and code of an error as they leave the process: in log lines, spans, recorded failures, dead
   * letters and the dashboard. It receives them after the default redaction and before they are cut to 1,024 characters,
   * and the thrown value; of a recorded failure it receives what was recorded. If it throws, message and code are
   * withheld.
   *
   * @example
   * ```ts
   * createHub({ redact: ({ name, message }) => ({ name, message: message.replace(/\S+@\S+/g, '[address]') }) });
   * ```
   * @default messages of errors that the application's code made are shown; those of Node and of packages are replaced
   * by paths, codes and statuses
   */
  redact?: Redact;
  /**
   * Called in the process that records it, after the record, with each terminal failure of an event or a run, for an error
   * tracker such as Sentry. The error is the thrown one, not redacted. Retried attempts, cancelled events and failures of
   * other processes are not part of it. What it throws or rejects with is logged.
   *
   * @example
   * ```ts
   * createHub({ onFailure: ({ error, ...event }) => Sentry.captureException(error, { contexts: { event } }) });
   * ```
   */
  onFailure?: (failure: Failure) => unknown;
}

/** Checked {@link HubOptions} with defaults. */
export type HubSettings = Readonly<
  Required<Omit<HubOptions, 'redact' | 'logger' | 'release' | 'onFailure' | 'blobs'>>
> & {
  readonly blobs: BlobStore | undefined;
  readonly release: string | undefined;
  readonly logger: Logger;
  /** Never throws. */
  readonly onFailure: ((failure: Failure) => void) | undefined;
  readonly redactor: Redactor;
  /** The caller did not name the service. */
  readonly isDefaultService: boolean;
};

const inlineBytes = 512 * 1024;
const blobBytes = 64 * 1024 * 1024;

const names: readonly (keyof HubOptions)[] = [
  'service',
  'transport',
  'logger',
  'concurrency',
  'maxPayloadBytes',
  'blobs',
  'blobsAboveBytes',
  'allowCycles',
  'observer',
  'redact',
  'release',
  'onFailure',
];

/** Checks the options of a hub and fills in defaults. @throws {InvalidOptionError} */
export function resolveHubOptions(options: HubOptions): HubSettings {
  const check = new OptionChecker(options, names, 'createHub');
  const { service = 'hub', transport = memoryTransport(), logger } = options;
  const { blobs, concurrency = 100, allowCycles = false, observer = false } = options;
  const { maxPayloadBytes = blobs === undefined ? inlineBytes : blobBytes, blobsAboveBytes = inlineBytes } = options;
  check.name('service', service);
  check.methods('transport', transport, ['connect']);
  if (logger !== false) check.methods('logger', logger, ['debug', 'info', 'warn', 'error']);
  check.count('concurrency', concurrency);
  check.count('maxPayloadBytes', maxPayloadBytes);
  check.methods('blobs', blobs, ['put', 'get', 'delete']);
  check.count('blobsAboveBytes', blobsAboveBytes);
  check.that(
    options.blobsAboveBytes === undefined || blobs !== undefined,
    'blobsAboveBytes',
    'absent without blobs',
    options.blobsAboveBytes,
  );
  check.boolean('allowCycles', allowCycles);
  check.boolean('observer', observer);
  check.function('redact', options.redact);
  check.function('onFailure', options.onFailure);
  const redactor = createRedactor(options.redact);
  const guarded = guardLogger(resolveLogger(logger), redactor);
  const { release = defaultRelease() } = options;
  if (release !== undefined) check.name('release', release);
  const settings = { concurrency, maxPayloadBytes, blobs, blobsAboveBytes, allowCycles, observer, release };
  return {
    service,
    isDefaultService: options.service === undefined,
    transport,
    logger: guarded,
    onFailure: options.onFailure && guardListener(options.onFailure, guarded),
    redactor,
    ...settings,
  };
}

/** Returns a function that calls a listener, and logs what it throws or rejects with. */
function guardListener(listener: (failure: Failure) => unknown, logger: Logger): (failure: Failure) => void {
  return async (failure) => {
    try {
      await listener(failure);
    } catch (err) {
      const { type, id, requestId } = failure;
      logger.error({ err, eventType: type, eventId: id, requestId }, 'onFailure of createHub failed');
    }
  };
}

function resolveLogger(logger: Logger | false | undefined): Logger {
  if (logger === false) return silentLogger;
  if (logger === undefined) return defaultLogger();
  return logger === console ? consoleLogger(console) : logger;
}
