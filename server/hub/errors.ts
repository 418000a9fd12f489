/**
 * Failures of events, schemas and workflows, and of a hub that is used at the wrong time.
 *
 * @module
 */
import { type ErrorInfo, HubError, quote, type SchemaIssue } from '../errors.js';

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

  constructor(what: string, type: string, bytes: number, maxPayloadBytes: number) {
    super(
      'ERR_PAYLOAD_TOO_LARGE',
      `${what} of ${quote(type)} is ${bytes} bytes of JSON, over maxPayloadBytes (${maxPayloadBytes}); store it elsewhere and send a reference`,
    );
    this.bytes = bytes;
    this.maxPayloadBytes = maxPayloadBytes;
  }
}

/** The payload does not fit the schema of its event type. */
export class SchemaValidationError extends HubError {
  /** What is wrong, the first 100 at most. */
  readonly issues: readonly SchemaIssue[];

  constructor(type: string, issues: readonly SchemaIssue[]) {
    const shown = issues.slice(0, 5).map((issue) => `${issue.path} ${issue.message}`);
    const more = issues.length > 5 ? ' and more' : '';
    super('ERR_SCHEMA_VALIDATION', `payload of ${quote(type)} does not fit its schema: ${shown.join('; ')}${more}`);
    this.issues = issues;
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

/** No dead letter has this id in the hub's service. */
export class UnknownDeadLetterError extends HubError {
  constructor(id: string, service: string) {
    super(
      'ERR_UNKNOWN_DEAD_LETTER',
      `no dead letter of service ${quote(service)} has the id ${quote(id)}: it was replayed already, newer ones took its place (maxDeadLetters), or it failed in another service; hub.deadLetters(type) lists those there are`,
    );
  }
}
