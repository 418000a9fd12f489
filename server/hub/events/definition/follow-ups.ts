import type { ErrorInfo } from '../../../errors.js';
import { checkName } from '../../../options.js';
import type { EventRef } from '../../references/event-ref.js';

/** Payload of `onFailure`. */
export interface FailurePayload<TPayload = unknown> {
  readonly error: ErrorInfo;
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
  /** Event emitted after terminal failure, with `{ error: { name, message, code? }, payload }`. */
  onFailure?: TargetOf<TPayload, FailurePayload<TPayload>> | string;
  /** Event emitted after either, with `{ status, result?, error?, payload }`. */
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
