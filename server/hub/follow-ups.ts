import { type ErrorInfo, EventCycleError, UnknownEventError } from '../errors.js';
import type { Envelope } from '../transports/transport.js';
import { nearestNames } from './nearest-names.js';

/** Names of events emitted when an event or workflow has ended. */
export interface FollowUpNames {
  /** Type emitted after success, with what the handler returned (`null` for nothing) as its payload. */
  onSuccess?: string;
  /** Type emitted after terminal failure, with `{ error: { name, message, code? }, payload }`. */
  onFailure?: string;
  /** Type emitted after either, with `{ status, result?, error?, payload }`. */
  onComplete?: string;
}

export const followUpKeys = ['onSuccess', 'onFailure', 'onComplete'] as const;

/** How an event ended, with its result as JSON where one was needed. */
export type Ending =
  | { readonly status: 'completed'; readonly result: string }
  | { readonly status: 'failed'; readonly error: ErrorInfo };

const none: readonly Envelope[] = [];

/** The envelopes that follow an event. Their ids derive from its id, so that making them again makes the same. */
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

function followUp({ id, requestId, depth }: Envelope, type: string, suffix: string, body: string): Envelope {
  const settings = { delayMs: 0, priority: 0, dedupe: undefined };
  return { id: `${id}.${suffix}`, type, body, requestId, depth: depth + 1, ...settings };
}

/**
 * Checks that every name is registered and that none leads back to where it began.
 *
 * @throws {UnknownEventError | EventCycleError}
 */
export function checkFollowUps(events: ReadonlyMap<string, FollowUpNames>, allowCycles: boolean): void {
  for (const [type, names] of events) {
    for (const key of followUpKeys) {
      const target = names[key];
      if (target === undefined || events.has(target)) continue;
      throw new UnknownEventError(target, nearestNames(target, events.keys()), `${key} of ${JSON.stringify(type)}`);
    }
  }
  if (allowCycles) return;
  const cycle = findCycle(events);
  if (cycle !== undefined) throw new EventCycleError(cycle);
}

/** Depth first with a stack of its own: a chain may be longer than the call stack. */
function findCycle(events: ReadonlyMap<string, FollowUpNames>): string[] | undefined {
  const done = new Set<string>();
  for (const start of events.keys()) {
    const path: string[] = [];
    const onPath = new Set<string>();
    const open: { readonly type: string; readonly targets: string[] }[] = [];
    const enter = (type: string): void => {
      path.push(type);
      onPath.add(type);
      const names = events.get(type) ?? {};
      open.push({ type, targets: followUpKeys.flatMap((key) => names[key] ?? []) });
    };
    if (!done.has(start)) enter(start);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const target = top.targets.pop();
      if (target === undefined) {
        open.pop();
        path.pop();
        onPath.delete(top.type);
        done.add(top.type);
      } else if (onPath.has(target)) {
        return [...path.slice(path.indexOf(target)), target];
      } else if (!done.has(target)) {
        enter(target);
      }
    }
  }
  return undefined;
}
