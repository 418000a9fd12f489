/**
 * Errors of transports: limits, lost leases, connections.
 *
 * @module
 */
import { type ErrorInfo, errorInfo, HubError, messageOf, quote } from '../errors.js';
import { fullPublicInfo } from '../redaction.js';
import { workflowOf } from './delivery.js';

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

/** The transport's server does not answer, or its disk cannot be written. It may or may not have carried out the call. */
export class TransportUnavailableError extends HubError {
  readonly #problem: string;
  readonly #advice: string | undefined;

  /**
   * @param problem such as `Redis did not answer within 2000 ms`
   * @param advice way out @default to repeat the call later
   */
  constructor(problem: string, cause?: unknown, advice?: string) {
    const wayOut = advice ?? 'repeat the call when it is available again';
    const messageWith = (why: string): string => `${problem}${why}; ${wayOut}`;
    super(
      'ERR_TRANSPORT_UNAVAILABLE',
      messageWith(cause === undefined ? '' : `: ${messageOf(cause)}`),
      cause === undefined ? undefined : { cause, publicMessage: messageWith(`: ${fullPublicInfo(cause).message}`) },
    );
    this.#problem = problem;
    this.#advice = advice;
  }

  /** Returns the error as that of an emit, which may have been accepted: unless it has an advice, it says how to repeat one. */
  ofEmit(): TransportUnavailableError {
    if (this.#advice !== undefined) return this;
    const advice = 'to repeat the emit without a duplicate, pass the same dedupeId';
    return new TransportUnavailableError(this.#problem, this.cause, advice);
  }
}

/** A server returned data that this version does not write: another version, or something else, uses the same place. */
export class UnexpectedDataError extends HubError {
  /**
   * @param found the data that was found, and the data that was expected
   * @param shown the same without the data, for logs: it may be a payload
   */
  constructor(found: string, shown: string = found) {
    const advice = 'let only processes of this version of Hubline use the prefix of Redis or the schema of Postgres';
    super('ERR_UNEXPECTED_DATA', `${found}; ${advice}`, { publicMessage: `${shown}; ${advice}` });
  }
}

/** The transport, or the place of the call, has no transactions that the caller can take part in. */
export class TransactionUnsupportedError extends HubError {
  /** @param operation such as `emit with tx` @param transport name of the transport; `undefined` if it is not the reason */
  constructor(operation: string, transport: string | undefined) {
    const reason =
      transport === undefined
        ? 'is not possible: the agent records its turns; use step.transaction of a workflow, or ctx.transaction of a handler'
        : `needs the Postgres transport, postgresTransport of hubline/postgres; this hub uses the transport ${quote(transport)}`;
    super('ERR_TRANSACTION_UNSUPPORTED', `${operation} ${reason}`);
  }
}

/** An emit with `tx` found no open transaction: it would not be rolled back with the caller's writes. Nothing was stored. */
export class MissingTransactionError extends HubError {
  constructor(cause: unknown) {
    super(
      'ERR_MISSING_TRANSACTION',
      'tx has no open transaction; pass the client on which BEGIN was executed, not its pool, and emit before COMMIT',
      { cause },
    );
  }
}

/** The transaction of an emit with `tx` is of another database, or another schema, than the transport. Nothing was stored. */
export class OtherDatabaseError extends HubError {
  constructor(schema: string, cause?: unknown) {
    super(
      'ERR_OTHER_DATABASE',
      `tx is a transaction of a database without the schema ${quote(schema)} of this transport; connect the transport and the transaction to the same database`,
      { cause },
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

/** The event was cancelled, or a run that had not started. Reason of `ctx.signal` if its handler runs. */
export class CancelledError extends HubError {
  constructor(type: string, reason?: string) {
    const workflow = workflowOf(type);
    const subject = workflow === undefined ? `event of type ${quote(type)}` : `run of workflow ${quote(workflow)}`;
    super('ERR_CANCELLED', `${subject} was cancelled${reason === undefined ? '' : `: ${reason}`}`);
  }
}

/** Returns the error of the events and runs of a type that another one of their key replaces. */
export function replacedInfo(type: string): ErrorInfo {
  return errorInfo(new CancelledError(type, 'a newer one of its key replaced it'));
}

/** Returns an error with a recorded name, message and code, as the reason of an abort. */
export function errorOf({ name, message, code }: ErrorInfo): Error {
  const error = code === undefined ? new Error(message) : new HubError(code, message);
  error.name = name;
  return error;
}
