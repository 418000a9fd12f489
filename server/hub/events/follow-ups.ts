import type { ErrorInfo } from '../../errors.js';
import { checkName } from '../../options.js';
import { type Envelope, workflowOf } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { EventRef } from './emit.js';

/** Event or run that failed for good, or was cancelled. */
export interface FailedEvent {
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  /** Id of the event or the run. */
  readonly id: string;
  /** Service that handled it. */
  readonly service: string;
  readonly requestId: string;
  /** Number of the attempt that failed, of the step if it names one, from 1; absent if it was cancelled. */
  readonly attempt?: number;
  /** Step that failed, of a run. */
  readonly step?: string;
}

/** Terminal failure that this process recorded. `createHub({ onFailure })` receives it. */
export interface Failure extends FailedEvent {
  /** Number of the attempt that failed, of the step if it names one, from 1. */
  readonly attempt: number;
  /** Thrown value as it is: it may have values of the payload in its message. */
  readonly error: unknown;
}

/** Payload of `onFailure`. */
export interface FailurePayload<TPayload = unknown> {
  readonly error: ErrorInfo;
  /** Event or run that failed. */
  readonly event: FailedEvent;
  /** Payload of the failed event, or input of the failed run. */
  readonly payload: TPayload;
}

/** Payload of `onComplete`. */
export type CompletionPayload<TResult = unknown, TPayload = unknown> =
  | { readonly status: 'completed'; readonly result: TResult; readonly payload: TPayload }
  | ({ readonly status: 'failed' } & FailurePayload<TPayload>);

/**
 * Reference to an event that accepts a payload of type `TPayload`. If a part of that type is unknown, every event is
 * accepted: TypeScript checks references before it infers what functions without annotations return.
 */
type TargetOf<TPart, TPayload> = unknown extends TPart ? EventRef<never, unknown> : EventRef<TPayload, unknown>;

/** Events that follow the end of an event or a workflow run. A reference must accept the payload that it is emitted with. */
export interface FollowUps<TResult = never, TPayload = never> {
  /** Event emitted after success. Its payload is the return value (`null` for `undefined`). */
  onSuccess?: TargetOf<TResult, TResult> | string;
  /** Event emitted after terminal failure, with `{ error: { name, message, code? }, event, payload }`. */
  onFailure?: TargetOf<TPayload, FailurePayload<TPayload>> | string;
  /** Event emitted after either, with `{ status, result?, error?, event?, payload }`. */
  onComplete?: TargetOf<TResult | TPayload, CompletionPayload<TResult, TPayload>> | string;
}

/** Checked {@link FollowUps}: types of events. */
export interface FollowUpNames {
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
}

export const followUpKeys: readonly (keyof FollowUpNames)[] = ['onSuccess', 'onFailure', 'onComplete'];

/** Checks the follow-ups among the options of `owner`. @throws {InvalidOptionError} */
export function resolveFollowUpNames(
  config: { readonly [K in keyof FollowUps]?: unknown },
  owner: string,
): FollowUpNames {
  const names: { -readonly [K in keyof FollowUpNames]: string } = {};
  for (const key of followUpKeys) {
    const name = resolveEventName(config[key], `${key} of ${owner}`);
    if (name !== undefined) names[key] = name;
  }
  return names;
}

/** Returns the type of an event that an option names or refers to. @throws {InvalidOptionError} */
export function resolveEventName(event: unknown, option: string): string | undefined {
  if (event === undefined) return undefined;
  const type: unknown = typeof event === 'object' && event !== null && 'type' in event ? event.type : event;
  checkName(type, option);
  return String(type);
}

/** Terminal status of an event or a run. `result` is JSON. */
export type TerminalOutcome =
  | { readonly status: 'completed'; readonly result: string }
  | ({ readonly status: 'failed'; readonly error: ErrorInfo } & Pick<FailedEvent, 'attempt' | 'step'>);

/** Describes the event of an envelope that failed. */
export function failedEvent(
  service: string,
  { type, id, requestId }: Envelope,
  { attempt, step }: Pick<FailedEvent, 'attempt' | 'step'>,
): FailedEvent {
  const workflow = workflowOf(type);
  return {
    kind: workflow === undefined ? 'event' : 'workflow',
    type: workflow ?? type,
    id,
    service,
    requestId,
    ...(attempt !== undefined && { attempt }),
    ...(step !== undefined && { step }),
  };
}

const none: readonly Envelope[] = [];

/**
 * Creates the envelopes of an event's follow-ups. Their ids derive from the service and the event's id, so that a second
 * commit of the same outcome creates the same ids. They also derive from its number of replays, because the follow-ups
 * of a replayed event differ from those of its earlier failure.
 */
export function createFollowUps(
  service: string,
  names: FollowUpNames,
  cause: Envelope,
  outcome: TerminalOutcome,
): readonly Envelope[] {
  const { onSuccess, onFailure, onComplete } = names;
  const isSuccess = outcome.status === 'completed';
  const onEnd = isSuccess ? onSuccess : onFailure;
  if (onEnd === undefined && onComplete === undefined) return none;
  const payload = `"payload":${cause.body}`;
  const result = isSuccess
    ? `"result":${outcome.result}`
    : `"error":${JSON.stringify(outcome.error)},"event":${JSON.stringify(failedEvent(service, cause, outcome))}`;
  const envelopes: Envelope[] = [];
  if (onEnd !== undefined) {
    const body = isSuccess ? outcome.result : `{${result},${payload}}`;
    envelopes.push(createFollowUp(service, cause, onEnd, isSuccess ? 'success' : 'failure', body));
  }
  if (onComplete !== undefined) {
    const body = `{"status":"${outcome.status}",${result},${payload}}`;
    envelopes.push(createFollowUp(service, cause, onComplete, 'complete', body));
  }
  return envelopes;
}

function createFollowUp(
  service: string,
  { id, replays, requestId, depth, trace }: Envelope,
  type: string,
  place: string,
  body: string,
): Envelope {
  const settings = { delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  const derived = deriveId(service, id, replays === 0 ? place : `${place}.${replays}`);
  return { id: derived, type, body, requestId, depth: depth + 1, ...settings, trace, causeId: id };
}
