/**
 * Every failure has its class. `code` is stable and meant for programs; `message` names the value
 * that was wrong and the way out, and is meant for people.
 *
 * @module
 */

/** Base of every error that Hubline throws or records. */
export class HubError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** An option has the wrong type or range. Thrown where the option is given, never later. */
export class InvalidOptionError extends HubError {
  constructor(option: string, expected: string, got: unknown) {
    super('ERR_INVALID_OPTION', `${option} must be ${expected}, got ${describe(got)}`);
  }
}

/** Something of this name is registered already. */
export class DuplicateNameError extends HubError {
  constructor(kind: string, name: string) {
    super('ERR_DUPLICATE_NAME', `${kind} ${quote(name)} is registered already; names are unique in a hub`);
  }
}

/** No event type of this name is registered on the hub. */
export class UnknownEventError extends HubError {
  /** Registered types whose names are closest, nearest first. */
  readonly nearest: readonly string[];

  constructor(type: string, nearest: readonly string[], usedBy?: string) {
    const used = usedBy === undefined ? '' : `, named by ${usedBy},`;
    const hint =
      nearest.length === 0
        ? 'register it with hub.event({ type })'
        : `did you mean ${nearest.map(quote).join(' or ')}?`;
    super('ERR_UNKNOWN_EVENT', `event type ${quote(type)}${used} is not registered: ${hint}`);
    this.nearest = nearest;
  }
}

/** `onSuccess`, `onFailure` and `onComplete` lead back to where they began. */
export class EventCycleError extends HubError {
  /** The types of the cycle in order, the first one again at the end. */
  readonly cycle: readonly string[];

  constructor(cycle: readonly string[]) {
    super(
      'ERR_EVENT_CYCLE',
      `follow-up events form a cycle: ${cycle.map(quote).join(' -> ')}; break it, or pass allowCycles: true to createHub`,
    );
    this.cycle = cycle;
  }
}

/** The hub is not running yet. */
export class HubNotStartedError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_NOT_STARTED', `${operation} before hub.start(): await hub.start() first`);
  }
}

/** The hub runs already, so what it registers is settled. */
export class HubStartedError extends HubError {
  constructor(operation: string, wayOut: string = 'do it before') {
    super('ERR_HUB_STARTED', `${operation} after hub.start(): ${wayOut}`);
  }
}

/** The hub was made to look on. */
export class HubObserverError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_OBSERVER', `${operation} on a hub with observer: true, which only looks on: leave the option out`);
  }
}

/** The hub was stopped and takes nothing new. */
export class HubStoppedError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_STOPPED', `${operation} after hub.stop(): create a new hub on the same transport to go on`);
  }
}

/** The payload has no exact JSON form. */
export class PayloadNotJsonError extends HubError {
  /** Where in the payload, such as `payload.items[2]`. */
  readonly path: string;

  constructor(path: string, found: string, options?: ErrorOptions) {
    super(
      'ERR_PAYLOAD_NOT_JSON',
      `${path} is ${found}, which JSON cannot carry; send plain objects, arrays, strings, finite numbers, booleans or null`,
      options,
    );
    this.path = path;
  }
}

/** The payload's JSON is over `maxPayloadBytes`. */
export class PayloadTooLargeError extends HubError {
  readonly bytes: number;
  readonly maxPayloadBytes: number;

  constructor(type: string, bytes: number, maxPayloadBytes: number) {
    super(
      'ERR_PAYLOAD_TOO_LARGE',
      `payload of ${quote(type)} is ${bytes} bytes of JSON, over maxPayloadBytes (${maxPayloadBytes}); store it elsewhere and send a reference`,
    );
    this.bytes = bytes;
    this.maxPayloadBytes = maxPayloadBytes;
  }
}

/** One thing that a schema found wrong. */
export interface SchemaIssue {
  /** Such as `payload.items[2].price`. */
  readonly path: string;
  readonly message: string;
}

/** The payload does not fit the schema of its event type. */
export class SchemaValidationError extends HubError {
  readonly issues: readonly SchemaIssue[];

  constructor(type: string, issues: readonly SchemaIssue[]) {
    const shown = issues.slice(0, 5).map((issue) => `${issue.path} ${issue.message}`);
    const more = issues.length > 5 ? ` and ${issues.length - 5} more` : '';
    super('ERR_SCHEMA_VALIDATION', `payload of ${quote(type)} does not fit its schema: ${shown.join('; ')}${more}`);
    this.issues = issues;
  }
}

/** A schema is itself wrong. Thrown where it is given. */
export class InvalidSchemaError extends HubError {
  constructor(subject: string, cause: unknown) {
    super('ERR_INVALID_SCHEMA', `schema of ${subject} is not valid: ${messageOf(cause)}`, { cause });
  }
}

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

/** A chain of events that cause events is too long. */
export class DepthLimitError extends HubError {
  constructor(type: string, depth: number, limit: number) {
    super(
      'ERR_DEPTH_LIMIT',
      `event ${quote(type)} is ${depth} events deep in a chain, over the limit of ${limit}; its handler did not run`,
    );
  }
}

/** A handler took longer than `timeoutMs`. Reason of `ctx.signal`, and a failed attempt. */
export class HandlerTimeoutError extends HubError {
  constructor(type: string, timeoutMs: number) {
    super('ERR_HANDLER_TIMEOUT', `handler of ${quote(type)} took longer than timeoutMs (${timeoutMs} ms)`);
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

/** Processes died, or lost their hold on the event, each time they ran its handler. */
export class CrashLoopError extends HubError {
  constructor(type: string, crashes: number) {
    super(
      'ERR_CRASH_LOOP',
      `handler of ${quote(type)} did not live to its end ${crashes} times (maxCrashes); it was not run again`,
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

/** Thrown by a handler: the event fails now, whatever its `retry` says. */
export class FatalError extends HubError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_FATAL', message, options);
  }
}

/** Whether a failure is terminal whatever `retry` says: a {@link FatalError}, or an error whose `fatal` is true. */
export function isFatal(error: unknown): boolean {
  return error instanceof FatalError || (error instanceof HubError && 'fatal' in error && error.fatal === true);
}

/** Thrown by a handler: the next attempt starts after `retryAfterMs`, in place of the computed delay. */
export class RetryAfterError extends HubError {
  readonly retryAfterMs: number;

  /** @param retryAfterMs milliseconds, 0 or more */
  constructor(retryAfterMs: number, message: string = `retry after ${retryAfterMs} ms`, options?: ErrorOptions) {
    super('ERR_RETRY_AFTER', message, options);
    if (!(Number.isFinite(retryAfterMs) && retryAfterMs >= 0)) {
      throw new InvalidOptionError('retryAfterMs', 'a finite number of milliseconds, 0 or more', retryAfterMs);
    }
    this.retryAfterMs = retryAfterMs;
  }
}

/** No workflow of this name is registered on the hub. */
export class UnknownWorkflowError extends HubError {
  /** Registered names that are closest, nearest first. */
  readonly nearest: readonly string[];

  constructor(name: string, nearest: readonly string[]) {
    const hint =
      nearest.length === 0
        ? 'register it with hub.workflow(createWorkflow({ name }))'
        : `did you mean ${nearest.map(quote).join(' or ')}?`;
    super('ERR_UNKNOWN_WORKFLOW', `workflow ${quote(name)} is not registered: ${hint}`);
    this.nearest = nearest;
  }
}

/** The steps of a workflow changed while a run was between them. */
export class WorkflowVersionError extends HubError {
  constructor(workflow: string, began: string, now: string) {
    super(
      'ERR_WORKFLOW_VERSION',
      `a run of workflow ${quote(workflow)} began with the steps ${began} and cannot go on with ${now}; give a changed workflow a new name until the old one's runs have ended`,
    );
  }
}

/** A workflow run was cancelled. Reason of `ctx.signal`, and the run's failure. */
export class WorkflowCancelledError extends HubError {
  constructor(workflow: string, runId: string) {
    super('ERR_WORKFLOW_CANCELLED', `run ${quote(runId)} of workflow ${quote(workflow)} was cancelled`);
  }
}

/** A workflow run failed: what `handle.result()` rejects with. */
export class WorkflowFailedError extends HubError {
  readonly runId: string;
  /** What the run failed with. */
  readonly failure: ErrorInfo;

  constructor(workflow: string, runId: string, failure: ErrorInfo) {
    super(
      'ERR_WORKFLOW_FAILED',
      `run ${quote(runId)} of workflow ${quote(workflow)} failed: ${failure.name}: ${failure.message}`,
    );
    this.runId = runId;
    this.failure = failure;
  }
}

/** A run that is not known, or no longer: the last 50 that ended are kept of each workflow. */
export class UnknownRunError extends HubError {
  constructor(workflow: string, runId: string) {
    super(
      'ERR_UNKNOWN_RUN',
      `run ${quote(runId)} of workflow ${quote(workflow)} is not known: of runs that ended only the last 50 are kept`,
    );
  }
}

/** A value as an error message shows it: short, on one line, and never throwing. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/** A name as an error message shows it: quoted, escaped, cut to 80 characters. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name);
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return errorInfo(thrown).message;
}

/** What is kept and sent of an error: no stack, no cause, no own fields. */
export interface ErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

const maxMessageLength = 1024;

/** Reads name, message and code of anything thrown, even where its own getters throw. */
export function errorInfo(thrown: unknown): ErrorInfo {
  try {
    if (!(thrown instanceof Error)) return { name: 'NonError', message: cut(describe(thrown)) };
    const info = { name: cut(String(thrown.name)), message: cut(String(thrown.message)) };
    const code = (thrown as { code?: unknown }).code;
    return typeof code === 'string' ? { ...info, code: cut(code) } : info;
  } catch {
    return { name: 'UnreadableError', message: 'the thrown value could not be read' };
  }
}

function cut(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}
