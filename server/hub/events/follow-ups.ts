import type { ErrorInfo } from '../../errors.js';
import type { Envelope } from '../../transports/transport.js';
import { checkTypeName } from './type-name.js';

/** Names of events emitted when an event or workflow has ended. */
export interface FollowUpNames {
  /** Type emitted after success, with what the handler returned (`null` for nothing) as its payload. */
  onSuccess?: string;
  /** Type emitted after terminal failure, with `{ error: { name, message, code? }, payload }`. */
  onFailure?: string;
  /** Type emitted after either, with `{ status, result?, error?, payload }`. */
  onComplete?: string;
}

export const followUpKeys: readonly (keyof FollowUpNames)[] = ['onSuccess', 'onFailure', 'onComplete'];

/** Takes the follow-up names out of a definition. @throws {InvalidOptionError} */
export function checkNames(config: FollowUpNames, owner: string): FollowUpNames {
  const names: FollowUpNames = {};
  for (const key of followUpKeys) {
    const name = config[key];
    if (name === undefined) continue;
    checkTypeName(name, `${key} of ${owner}`);
    names[key] = name;
  }
  return names;
}

/** How an event ended, with its result as JSON where one was needed. */
export type Ending =
  | { readonly status: 'completed'; readonly result: string }
  | { readonly status: 'failed'; readonly error: ErrorInfo };

const none: readonly Envelope[] = [];

/**
 * The envelopes that follow an event. Their ids derive from its id, so that making them again makes the same,
 * and from its replays: what followed its failure is not what follows now.
 */
export function followUps(names: FollowUpNames, cause: Envelope, ending: Ending): readonly Envelope[] {
  const { onSuccess, onFailure, onComplete } = names;
  const onEnd = ending.status === 'completed' ? onSuccess : onFailure;
  if (onEnd === undefined && onComplete === undefined) return none;
  const payload = `"payload":${cause.body}`;
  const result =
    ending.status === 'completed' ? `"result":${ending.result}` : `"error":${JSON.stringify(ending.error)}`;
  const envelopes: Envelope[] = [];
  if (onEnd !== undefined) {
    const isSuccess = ending.status === 'completed';
    const body = isSuccess ? ending.result : `{${result},${payload}}`;
    envelopes.push(followUp(cause, onEnd, isSuccess ? 'success' : 'failure', body));
  }
  if (onComplete !== undefined) {
    const body = `{"status":"${ending.status}",${result},${payload}}`;
    envelopes.push(followUp(cause, onComplete, 'complete', body));
  }
  return envelopes;
}

function followUp(
  { id, replays, requestId, depth, trace }: Envelope,
  type: string,
  suffix: string,
  body: string,
): Envelope {
  const settings = { delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  const origin = replays === 0 ? id : `${id}.${replays}`;
  return { id: `${origin}.${suffix}`, type, body, requestId, depth: depth + 1, ...settings, trace };
}
