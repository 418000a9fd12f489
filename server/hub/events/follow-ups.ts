import type { ErrorInfo } from '../../errors.js';
import { checkName } from '../../options.js';
import type { Envelope } from '../../transports/transport.js';

/** Types of the events that follow the end of an event or a workflow run. */
export interface FollowUpNames {
  /** Type emitted after success. Its payload is the handler's return value (`null` for `undefined`). */
  onSuccess?: string;
  /** Type emitted after terminal failure, with `{ error: { name, message, code? }, payload }`. */
  onFailure?: string;
  /** Type emitted after either, with `{ status, result?, error?, payload }`. */
  onComplete?: string;
}

export const followUpKeys: readonly (keyof FollowUpNames)[] = ['onSuccess', 'onFailure', 'onComplete'];

/** Checks the follow-up names among the options of `owner`. @throws {InvalidOptionError} */
export function resolveFollowUpNames(config: FollowUpNames, owner: string): FollowUpNames {
  const names: FollowUpNames = {};
  for (const key of followUpKeys) {
    const name = config[key];
    if (name === undefined) continue;
    checkName(name, `${key} of ${owner}`);
    names[key] = name;
  }
  return names;
}

/** Terminal status of an event or a run. `result` is JSON. */
export type TerminalOutcome =
  | { readonly status: 'completed'; readonly result: string }
  | { readonly status: 'failed'; readonly error: ErrorInfo };

const none: readonly Envelope[] = [];

/**
 * Creates the envelopes of an event's follow-ups. Their ids derive from the event's id, so that a second commit of the
 * same outcome creates the same ids. They also derive from its number of replays, because the follow-ups of a replayed
 * event differ from those of its earlier failure.
 */
export function createFollowUps(names: FollowUpNames, cause: Envelope, outcome: TerminalOutcome): readonly Envelope[] {
  const { onSuccess, onFailure, onComplete } = names;
  const isSuccess = outcome.status === 'completed';
  const onEnd = isSuccess ? onSuccess : onFailure;
  if (onEnd === undefined && onComplete === undefined) return none;
  const payload = `"payload":${cause.body}`;
  const result = isSuccess ? `"result":${outcome.result}` : `"error":${JSON.stringify(outcome.error)}`;
  const envelopes: Envelope[] = [];
  if (onEnd !== undefined) {
    const body = isSuccess ? outcome.result : `{${result},${payload}}`;
    envelopes.push(createFollowUp(cause, onEnd, isSuccess ? 'success' : 'failure', body));
  }
  if (onComplete !== undefined) {
    const body = `{"status":"${outcome.status}",${result},${payload}}`;
    envelopes.push(createFollowUp(cause, onComplete, 'complete', body));
  }
  return envelopes;
}

function createFollowUp(
  { id, replays, requestId, depth, trace }: Envelope,
  type: string,
  suffix: string,
  body: string,
): Envelope {
  const settings = { delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  const origin = replays === 0 ? id : `${id}.${replays}`;
  return { id: `${origin}.${suffix}`, type, body, requestId, depth: depth + 1, ...settings, trace };
}
