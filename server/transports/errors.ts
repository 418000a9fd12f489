/**
 * Errors of transports: limits, lost leases, connections.
 *
 * @module
 */
import { type ErrorInfo, HubError, messageOf, quote } from '../errors.js';
import { fullPublicInfo } from '../redaction.js';

/** A limit of the transport is reached. */
export class BackpressureError extends HubError {
  /** @param subject what reached the limit, such as `pending events` */
  constructor(subject: string, limit: string) {
    super('ERR_BACKPRESSURE', `${subject} reached ${limit}; wait for events to complete, or raise the limit`);
  }
}

/** A key-value operation found the wrong kind of value: a list, a string, or not a whole number. */
export class KeyTypeError extends HubError {
  readonly expected: string;

  /** @param expected such as `a list` */
  constructor(key: string, expected: string) {
    super('ERR_KEY_TYPE', `key ${quote(key)} does not hold ${expected}; delete it first, or use another key`, {
      publicMessage: `a key does not hold ${expected}`,
    });
    this.expected = expected;
  }
}

/** The hub shuts down and releases the event. Reason of `ctx.signal`; the attempt does not count. */
export class ShutdownError extends HubError {
  constructor() {
    super(
      'ERR_SHUTDOWN',
      'shutdown: the hub stops and releases the event, which runs again in another process or after a restart',
    );
  }
}

/** The lock on the event was lost because it was not renewed in time. Reason of `ctx.signal`; another attempt runs. */
export class LeaseLostError extends HubError {
  constructor() {
    super(
      'ERR_LEASE_LOST',
      'lock lost: the event was passed to another process because this one did not renew its lock in time; keep handlers from blocking the event loop, or raise lockDurationMs',
    );
  }
}

/** A poison event: its process crashed, or lost the lock on it, several times in a row, the last time without other events. */
export class CrashLoopError extends HubError {
  constructor(type: string, crashes: number) {
    super(
      'ERR_CRASH_LOOP',
      `the process or its lock was lost ${crashes} times in a row (maxCrashes) while the handler of ${quote(type)} ran, the last time alone; the event is not run again. If something else ended the processes, such as a lack of memory or a deploy that does not wait for hub.stop, replay it and raise maxCrashes`,
    );
  }
}

/** The transport's server does not answer, or its disk cannot be written. It may or may not have accepted the event. */
export class TransportUnavailableError extends HubError {
  /** @param problem such as `Redis did not answer within 2000 ms` */
  constructor(
    problem: string,
    cause?: unknown,
    advice = 'to repeat an emit without a duplicate, pass the same dedupeId',
  ) {
    const messageWith = (why: string): string => `${problem}${why}; ${advice}`;
    super(
      'ERR_TRANSPORT_UNAVAILABLE',
      messageWith(cause === undefined ? '' : `: ${messageOf(cause)}`),
      cause === undefined ? undefined : { cause, publicMessage: messageWith(`: ${fullPublicInfo(cause).message}`) },
    );
  }
}

/** An optional peer dependency is not installed. */
export class MissingPackageError extends HubError {
  /** @param install arguments of `npm install` */
  constructor(usedBy: string, install: string, cause: unknown) {
    super('ERR_MISSING_PACKAGE', `${usedBy} needs ${install}: npm install ${install}`, { cause });
  }
}

/** The service never subscribed to an event type or workflow, or was retired from it. */
export class NotSubscribedError extends HubError {
  /**
   * @param names event types and workflows; an empty array means all
   * @param services services that have subscriptions
   */
  constructor(service: string, names: readonly string[], services: readonly string[]) {
    const subject = names.length === 0 ? 'any event type or workflow' : names.map(quote).join(' or ');
    const remedy =
      services.length === 0
        ? 'start a hub of the service that handles it'
        : `services with subscriptions: ${services.map(quote).join(', ')}`;
    super('ERR_NOT_SUBSCRIBED', `service ${quote(service)} does not subscribe to ${subject}; ${remedy}`);
  }
}

/** A service cannot be retired while one of its processes runs. */
export class ServiceRunningError extends HubError {
  constructor(service: string, handled: string) {
    super(
      'ERR_SERVICE_RUNNING',
      `service ${quote(service)} cannot be retired: one of its processes handles ${quote(handled)}; stop its processes first (a killed process counts as running for 16 s)`,
    );
  }
}

/** A service that is to be retired has pending events or dead letters. */
export class PendingEventsError extends HubError {
  readonly pending: number;
  readonly deadLetters: number;

  constructor(service: string, pending: number, deadLetters: number) {
    super(
      'ERR_PENDING_EVENTS',
      `service ${quote(service)} has ${pending} pending events and ${deadLetters} dead letters, which would be lost; start one of its processes to handle them, or pass discard: true`,
    );
    this.pending = pending;
    this.deadLetters = deadLetters;
  }
}

/** Failure of an event that was pending when its service was retired with `discard`. */
export class RetiredError extends HubError {
  constructor() {
    super('ERR_RETIRED', 'the service no longer handles the type: it was retired and its pending events discarded');
  }
}

/** Returns an error with a recorded name, message and code, as the reason of an abort. */
export function errorOf({ name, message, code }: ErrorInfo): Error {
  const error = code === undefined ? new Error(message) : new HubError(code, message);
  error.name = name;
  return error;
}
