import { InvalidOptionError } from '../../errors.js';
import type { Envelope } from '../../transports/delivery.js';
import { triggeredId } from '../../transports/derived-ids.js';

/** Function that decides about an event by its payload. */
export type Condition = (payload: never) => unknown;

/** Checked trigger of a workflow. */
export interface ResolvedTrigger {
  /** Event type that starts a run. */
  readonly type: string;
  /** Refuses events. */
  readonly when?: Condition;
}

/** Calls a condition. @throws {InvalidOptionError} if it does not return a boolean */
export function accepts(when: Condition, { body }: { readonly body: string }, owner: string): boolean {
  // The event's schema, or the caller's claim, ensures that the payload has the parameter's type. Parsed again: the
  // condition may change its argument.
  const verdict = (when as (payload: unknown) => unknown)(JSON.parse(body));
  if (typeof verdict === 'boolean') return verdict;
  throw new InvalidOptionError(`the result of when of ${owner}`, 'a boolean', typeof verdict);
}

/** Returns the trigger that started a run; `undefined` if something else did, or if it is none of the given ones. */
export function triggerOf(
  triggers: readonly ResolvedTrigger[],
  { id, type: runType, causeId }: Envelope,
  service: string,
): ResolvedTrigger | undefined {
  if (causeId === undefined) return undefined;
  return triggers.find(({ type }) => triggeredId(service, causeId, runType, type) === id);
}
