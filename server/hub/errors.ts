/**
 * Errors of events, schemas, workflows, runs and their steps, and of operations in the wrong state of the hub.
 *
 * @module
 */

import { type ErrorInfo, HubError, messageOf, quote, type SchemaIssue } from '../errors.js';
import { fullPublicInfo, publicPath } from '../redaction.js';
import { workflowOf } from '../transports/delivery.js';

/** The event type is not registered on the hub. */
export class UnknownEventError extends HubError {
  /** Registered types with similar names, nearest first. */
  readonly nearest: readonly string[];

  /** @param hintOtherwise way out if no registered type is near */
  constructor(
    type: string,
    nearest: readonly string[],
    usedBy?: string,
    hintOtherwise: string = 'register it with hub.event(definition) or hub.event({ type })',
  ) {
    const used = usedBy === undefined ? '' : `, the ${usedBy},`;
    const hint = nearest.length === 0 ? hintOtherwise : `did you mean ${nearest.map(quote).join(' or ')}?`;
    super('ERR_UNKNOWN_EVENT', `event type ${quote(type)}${used} is not registered: ${hint}`);
    this.nearest = nearest;
  }
}

/** Follow-ups and triggers form a cycle. */
export class EventCycleError extends HubError {
  /** Types of the cycle in order. The first is repeated at the end. */
  readonly cycle: readonly string[];

  constructor(cycle: readonly string[]) {
    super(
      'ERR_EVENT_CYCLE',
      `follow-up events form a cycle: ${cycle.map(quote).join(' -> ')}; break it, or pass allowCycles: true to createHub`,
    );
    this.cycle = cycle;
  }
}

/** The run waits for no approval, or for several of which none was named. */
export class NoApprovalError extends HubError {
  /** Steps of which one must be named; empty if the run waits for no approval. */
  readonly steps: readonly string[];

  /** @param meant step or id of the approval that was asked for */
  constructor(runId: string, meant: string | undefined, steps: readonly string[]) {
    const at = meant === undefined ? '' : ` at ${quote(meant)}`;
    super(
      'ERR_NO_APPROVAL',
      steps.length === 0
        ? `${quote(runId)} waits for no approval${at}: hub.waits() lists the open ones`
        : `${quote(runId)} waits for several approvals: name one of the steps ${steps.map(quote).join(', ')}`,
    );
    this.steps = steps;
  }
}

/** The hub has not started. */
export class HubNotStartedError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_NOT_STARTED', `${operation} before hub.start(): await hub.start() first`);
  }
}

/** The hub has already started, so registrations are closed. */
export class HubStartedError extends HubError {
  constructor(operation: string, remedy: string = 'register before start()') {
    super('ERR_HUB_STARTED', `${operation} after hub.start(): ${remedy}`);
  }
}

/** The hub is read-only: it was created with `observer: true`. */
export class HubObserverError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_OBSERVER', `${operation} on a read-only hub: create the hub without observer: true`);
  }
}

/** The hub has stopped or is stopping. */
export class HubStoppedError extends HubError {
  constructor(operation: string) {
    super('ERR_HUB_STOPPED', `${operation} after hub.stop(): create a new hub on the same transport to continue`);
  }
}

/** JSON cannot represent the payload exactly. */
export class PayloadNotJsonError extends HubError {
  /** Path of the value, such as `payload.items[2]`. */
  readonly path: string;

  constructor(path: string, found: string, options?: ErrorOptions) {
    super(
      'ERR_PAYLOAD_NOT_JSON',
      `${path} is ${found}, which JSON cannot represent; send plain objects, arrays, strings, finite numbers, booleans or null`,
      { ...options, publicMessage: `${publicPath(path)} is ${kindOf(found)}, which JSON cannot represent` },
    );
    this.path = path;
  }
}

/** Returns a description without the value that it quotes. */
function kindOf(found: string): string {
  return found.startsWith('the bigint ') ? 'a bigint' : found.replace(/^not readable .*$/s, 'not readable');
}

/** The payload's JSON is larger than `maxPayloadBytes`. */
export class PayloadTooLargeError extends HubError {
  /** Size of the payload, at least: one that is far too large is not measured to its end. */
  readonly bytes: number;
  readonly maxPayloadBytes: number;

  constructor(subject: string, type: string, bytes: number, maxPayloadBytes: number, isAtLeast = false) {
    super(
      'ERR_PAYLOAD_TOO_LARGE',
      `${subject} of ${quote(type)} is ${isAtLeast ? 'at least ' : ''}${bytes} bytes of JSON, over maxPayloadBytes (${maxPayloadBytes}); pass blobs to createHub, or store it elsewhere and send a reference`,
    );
    this.bytes = bytes;
    this.maxPayloadBytes = maxPayloadBytes;
  }
}

/** The payload does not match the schema of its event type. */
export class SchemaValidationError extends HubError {
  /** Issues of the payload, at most 100. */
  readonly issues: readonly SchemaIssue[];

  /** @param publicPaths paths of the issues without keys that come from the payload @param checked what was checked */
  constructor(
    type: string,
    issues: readonly SchemaIssue[],
    publicPaths: readonly string[] = [],
    checked: 'payload' | 'result' = 'payload',
  ) {
    const shown = issues.slice(0, 5).map((issue) => `${issue.path} ${issue.message}`);
    const more = issues.length > 5 ? ' and more' : '';
    const subject = `${checked} of ${quote(type)} does not match its schema`;
    const paths = [...new Set(publicPaths)].slice(0, 5);
    const publicMessage = paths.length === 0 ? subject : `${subject} at ${paths.join(', ')}`;
    super('ERR_SCHEMA_VALIDATION', `${subject}: ${shown.join('; ')}${more}`, { publicMessage });
    this.issues = issues;
  }
}

/** The event's `key` function threw, or its return value is not a key. */
export class InvalidKeyError extends HubError {
  constructor(type: string, cause: unknown) {
    const messageWith = (why: string): string => `key of ${quote(type)} is not valid: ${why}`;
    super('ERR_INVALID_KEY', messageWith(messageOf(cause)), {
      cause,
      publicMessage: messageWith(fullPublicInfo(cause).message),
    });
  }
}

/** The event's `tags` function threw, or its return value is not a list of tags. */
export class InvalidTagsError extends HubError {
  constructor(type: string, cause: unknown) {
    const messageWith = (why: string): string => `tags of ${quote(type)} are not valid: ${why}`;
    super('ERR_INVALID_TAGS', messageWith(messageOf(cause)), {
      cause,
      publicMessage: messageWith(fullPublicInfo(cause).message),
    });
  }
}

/** `emitMany` was rejected after a part of its events was accepted. */
export class PartialEmitError extends HubError {
  /** Number of events that were accepted, from the first one on. */
  readonly accepted: number;

  constructor(type: string, accepted: number, total: number, cause: unknown) {
    const messageWith = (why: string): string =>
      `emitMany accepted the first ${accepted} of ${total} events of ${quote(type)}: ${why}; emit the others again`;
    super('ERR_PARTIAL_EMIT', messageWith(messageOf(cause)), {
      cause,
      publicMessage: messageWith(fullPublicInfo(cause).message),
    });
    this.accepted = accepted;
  }
}

/** The stored payload of an event is not what the hub stored: other software changed it. */
export class StoredPayloadError extends HubError {
  constructor(type: string, cause: unknown) {
    super(
      'ERR_STORED_PAYLOAD',
      `the stored payload of ${quote(type)} is not JSON; its handler did not run. Only hubs may write to the store`,
      { cause },
    );
  }
}

/** The causal chain of events is too long. */
export class DepthLimitError extends HubError {
  constructor(type: string, depth: number, limit: number) {
    super(
      'ERR_DEPTH_LIMIT',
      `event ${quote(type)} has depth ${depth} in its causal chain, over the limit of ${limit}; its handler did not run`,
    );
  }
}

/** The handler exceeded `timeoutMs`. Fails the attempt and is the reason of `ctx.signal`. */
export class HandlerTimeoutError extends HubError {
  constructor(type: string, timeoutMs: number) {
    super('ERR_HANDLER_TIMEOUT', `handler of ${quote(type)} exceeded timeoutMs (${timeoutMs} ms)`);
  }
}

/** An attempt emits more than its outcome may carry. */
export class EmitLimitError extends HubError {
  constructor(event: string, limit: string) {
    super(
      'ERR_EMIT_LIMIT',
      `emit of ${event} exceeds the limit of ${limit} per outcome or step; emit from several steps, or with hub.emit(..., { cause: ctx })`,
    );
  }
}

/** `ctx.emit` or `ctx.startWorkflow` was called after its attempt had ended. */
export class AttemptEndedError extends HubError {
  constructor(operation: string) {
    super('ERR_ATTEMPT_ENDED', `${operation} after the attempt ended: await it in the handler, or use hub.emit`);
  }
}

/** The workflow is not registered on the hub. */
export class UnknownWorkflowError extends HubError {
  /** Registered workflows with similar names, nearest first. */
  readonly nearest: readonly string[];

  /** @param hintOtherwise way out if no registered workflow is near */
  constructor(
    name: string,
    nearest: readonly string[],
    hintOtherwise: string = 'register it with hub.workflow(createWorkflow({ name })), or pass the definition of one that another service runs',
  ) {
    const hint = nearest.length === 0 ? hintOtherwise : `did you mean ${nearest.map(quote).join(' or ')}?`;
    super('ERR_UNKNOWN_WORKFLOW', `workflow ${quote(name)} is not registered: ${hint}`);
    this.nearest = nearest;
  }
}

/** The code of a workflow changed in a way that does not fit the recorded steps of a run. */
export class WorkflowVersionError extends HubError {
  /** @param recorded step that the run recorded, or the version that did @param current step that the code asks for */
  constructor(workflow: string, recorded: string, current: string) {
    super(
      'ERR_WORKFLOW_VERSION',
      `a run of workflow ${quote(workflow)} recorded ${recorded}, but the code now asks for ${current}; branch with step.patched(), or register the changed workflow under a new name`,
    );
  }
}

/** The workflow run was cancelled. Error of the run and reason of `ctx.signal`. */
export class WorkflowCancelledError extends HubError {
  constructor(workflow: string, runId: string, reason?: string) {
    const because = reason === undefined ? '' : `: ${reason}`;
    super('ERR_WORKFLOW_CANCELLED', `run ${quote(runId)} of workflow ${quote(workflow)} was cancelled${because}`);
  }
}

/** The workflow run failed. `handle.result()` rejects with it. */
export class WorkflowFailedError extends HubError {
  readonly runId: string;
  /** Error that failed the run. */
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

/** No event or run with the id is pending or retained. */
export class UnknownEventIdError extends HubError {
  constructor(id: string) {
    super(
      'ERR_UNKNOWN_EVENT_ID',
      `no event or run ${quote(id)} is pending or retained; pass the id that emit or startWorkflow returned`,
    );
  }
}

/** The run does not exist, or its record was evicted. `retain` of the workflow sets how many are retained. */
export class UnknownRunError extends HubError {
  /** @param service sentence about the service of the run, if it is another one */
  constructor(workflow: string | undefined, runId: string, service?: string) {
    const run = workflow === undefined ? quote(runId) : `${quote(runId)} of workflow ${quote(workflow)}`;
    const why = 'it never existed, or its record was evicted after newer runs ended';
    super('ERR_UNKNOWN_RUN', `run ${run} is unknown: ${why}${service === undefined ? '' : `; ${service}`}`);
  }
}

/** The run is pending. `hub.fork` takes a run that has ended. */
export class RunNotEndedError extends HubError {
  constructor(runId: string) {
    super('ERR_RUN_NOT_ENDED', `run ${quote(runId)} has not ended: cancel it or await its end before hub.fork`);
  }
}

/** The run has ended, so that no turn can read the text of `hub.send`. */
export class RunEndedError extends HubError {
  constructor(runId: string) {
    super('ERR_RUN_ENDED', `run ${quote(runId)} has ended, and reads no text: emit another event in its conversation`);
  }
}

/** No agent runs in the event or the run, so that nothing can read the text of `hub.send`. */
export class NotAgentRunError extends HubError {
  constructor(runId: string, type: string) {
    const subject = `${quote(runId)} of ${quote(workflowOf(type) ?? type)}`;
    super(
      'ERR_NOT_AGENT_RUN',
      `${subject} is no run of an agent: hub.send takes events whose handler is agent.asHandler(), and runs of workflows with agents`,
    );
  }
}

/** The run has no such step. `hub.fork` takes a step that the run has reached. */
export class UnknownStepError extends HubError {
  /** Steps that the run has reached, at most 20; empty if it has none, or if `hub.erase` removed them. */
  readonly steps: readonly string[];

  constructor(runId: string, step: string, steps: readonly string[]) {
    const known = steps.slice(0, 20);
    const remedy =
      known.length === 0
        ? 'nothing is recorded of it, or hub.erase removed it: start a new run'
        : `it has ${known.map(quote).join(', ')}${steps.length > known.length ? ' and more' : ''}`;
    super('ERR_UNKNOWN_STEP', `run ${quote(runId)} has not reached the step ${quote(step)}: ${remedy}`);
    this.steps = known;
  }
}

/** The run completed, but `hub.erase` removed its result. `handle.result()` rejects with it. */
export class RunErasedError extends HubError {
  constructor(workflow: string, runId: string) {
    super(
      'ERR_RUN_ERASED',
      `the result of run ${quote(runId)} of workflow ${quote(workflow)} was removed by hub.erase; status() returns what is left`,
    );
  }
}

/** No hub registered what was to be paused. */
export class UnknownTargetError extends HubError {
  /** Known names that are similar, nearest first. */
  readonly nearest: readonly string[];

  constructor(kind: string, name: string, nearest: readonly string[]) {
    const hint =
      nearest.length === 0 ? 'hub.introspect() lists them' : `did you mean ${nearest.map(quote).join(' or ')}?`;
    super('ERR_UNKNOWN_TARGET', `${kind} ${quote(name)} cannot be paused, because no hub registered it: ${hint}`);
    this.nearest = nearest;
  }
}

/** The hub's service has no dead letter with this id. */
export class UnknownDeadLetterError extends HubError {
  constructor(id: string, service: string) {
    super(
      'ERR_UNKNOWN_DEAD_LETTER',
      `service ${quote(service)} has no dead letter with the id ${quote(id)}: it was already replayed, was evicted (maxDeadLetters), or failed in another service; hub.deadLetters(type) lists the retained ones`,
    );
  }
}

/**
 * A step failed and is not retried. `step.run` and the other functions of `step` reject with it, with the same fields
 * on every replay of the run. A run that does not catch it fails with `failure`.
 */
export class StepFailedError extends HubError {
  /** Id of the step. */
  readonly step: string;
  /** Number of attempts, 1 or more. */
  readonly attempts: number;
  /** Error of the last attempt. */
  readonly failure: ErrorInfo;

  constructor(step: string, attempts: number, failure: ErrorInfo) {
    const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
    super('ERR_STEP_FAILED', `step ${quote(step)} failed after ${count}: ${failure.name}: ${failure.message}`);
    this.step = step;
    this.attempts = attempts;
    this.failure = failure;
  }
}

/** A workflow run exceeds a limit that bounds its memory. */
export class RunLimitError extends HubError {
  constructor(workflow: string, exceeded: string, limit: string) {
    super('ERR_RUN_LIMIT', `a run of workflow ${quote(workflow)} has ${exceeded}, more than the limit of ${limit}`);
  }
}

/** Returns `true` for the recorded error of a cancelled event or run. The record of a run tells nothing else. */
export function isCancellation(error: ErrorInfo | undefined): boolean {
  return error?.code === 'ERR_CANCELLED' || error?.code === 'ERR_WORKFLOW_CANCELLED';
}
