/**
 * Failures of what keeps the events: limits, lost leases, connections.
 *
 * @module
 */
import { HubError, messageOf, quote } from '../errors.js';

/** More is waiting than the transport may hold. */
export class BackpressureError extends HubError {
  constructor(what: string, limit: string) {
    super('ERR_BACKPRESSURE', `${what} reached ${limit}; wait for events to complete, or raise the limit`);
  }
}

/** A key holds a list where a string was asked for, a string where a list was, or no whole number. */
export class KeyTypeError extends HubError {
  constructor(key: string, expected: string) {
    super('ERR_KEY_TYPE', `key ${quote(key)} does not hold ${expected}; delete it first, or use another key`);
  }
}

/** The hub stops and hands the event back. Reason of `ctx.signal`; no attempt is spent. */
export class ShutdownError extends HubError {
  constructor() {
    super(
      'ERR_SHUTDOWN',
      'shutdown: the hub stops; the event was handed back and runs again elsewhere or after a restart',
    );
  }
}

/** The process lost its hold on the event: it was out of touch too long. Reason of `ctx.signal`; another attempt runs. */
export class LeaseLostError extends HubError {
  constructor() {
    super(
      'ERR_LEASE_LOST',
      'lease-lost: the event was given to another process, for this one did not renew its lock in time; keep handlers from blocking the event loop, or raise lockDurationMs',
    );
  }
}

/** Processes died, or lost their hold on the event, several times in a row while they had it. */
export class CrashLoopError extends HubError {
  constructor(type: string, crashes: number) {
    super(
      'ERR_CRASH_LOOP',
      `handler of ${quote(type)} did not live to its end ${crashes} times in a row (maxCrashes); it was not run again`,
    );
  }
}

/** What keeps the events does not answer. The event may or may not have been accepted. */
export class TransportUnavailableError extends HubError {
  constructor(transport: string, timeoutMs: number, cause?: unknown) {
    const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
    super(
      'ERR_TRANSPORT_UNAVAILABLE',
      `${transport} did not answer within ${timeoutMs} ms${why}; try again with the same dedupeId, so that nothing is doubled`,
      { cause },
    );
  }
}

/** A package that is installed only where it is needed is missing. */
export class MissingPackageError extends HubError {
  constructor(usedBy: string, install: string, cause: unknown) {
    super('ERR_MISSING_PACKAGE', `${usedBy} needs ${install}: npm install ${install}`, { cause });
  }
}

/** The service does not subscribe to that: it never did, or was retired. */
export class NotSubscribedError extends HubError {
  /** @param names event types and workflows; none for all that there are */
  constructor(service: string, names: readonly string[], services: readonly string[]) {
    const what = names.length === 0 ? 'any event type or workflow' : names.map(quote).join(' or ');
    const known =
      services.length === 0 ? '' : `; services that subscribe to something: ${services.map(quote).join(', ')}`;
    super(
      'ERR_NOT_SUBSCRIBED',
      `service ${quote(service)} does not subscribe to ${what}${known}; a hub of the service subscribes at its start to what it handles`,
    );
  }
}

/** A service cannot be retired while it is at work. */
export class ServiceRunningError extends HubError {
  constructor(service: string, handled: string) {
    super(
      'ERR_SERVICE_RUNNING',
      `service ${quote(service)} cannot be retired: a process of it handles ${quote(handled)}; stop its processes first, one that was killed counts for 16 s`,
    );
  }
}

/** What is to be retired has work left. */
export class PendingEventsError extends HubError {
  readonly pending: number;
  readonly deadLetters: number;

  constructor(service: string, pending: number, deadLetters: number) {
    super(
      'ERR_PENDING_EVENTS',
      `service ${quote(service)} has ${pending} pending events and ${deadLetters} dead letters, which would be lost; start a process of it to handle them, or pass discard: true`,
    );
    this.pending = pending;
    this.deadLetters = deadLetters;
  }
}

/** The failure of events that were pending when their service was retired. */
export class RetiredError extends HubError {
  constructor() {
    super('ERR_RETIRED', 'the service no longer handles this: it was retired, and what was pending discarded');
  }
}
