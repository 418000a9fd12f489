import { InvalidOptionError } from '../errors.js';
import { OptionChecker } from '../options.js';
import { workflowOf } from './delivery.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from './errors.js';
import { minuteMs } from './limits.js';

/** Options of `transport.retire`. */
export interface RetireOptions {
  /**
   * Names of the event types and workflows to retire, such as those that a newer version of the service no longer
   * handles. A name stands for both. @default all of the service
   */
  only?: readonly string[];
  /**
   * Discard pending events and dead letters. With `false` the call rejects if there are any, and changes nothing.
   * @default false
   */
  discard?: boolean;
}

/** Numbers of discarded events and dead letters, as counted when the subscriptions ended. */
export interface RetireResult {
  /** Pending events and runs. They count as failed, with `RetiredError`. */
  readonly events: number;
  readonly deadLetters: number;
}

/** Result of an attempt to end subscriptions of a service. Only `done` changes anything. */
export type Retirement =
  | { readonly status: 'none'; readonly services: readonly string[] }
  | { readonly status: 'running'; readonly type: string }
  | ({ readonly status: 'pending' | 'done' } & RetireResult);

/** @throws {InvalidOptionError} */
export function checkRetireArguments(service: string, options: RetireOptions): void {
  if (typeof service !== 'string' || service === '') {
    throw new InvalidOptionError('service of retire', 'the name of a service', service);
  }
  const check = new OptionChecker(options, ['only', 'discard'], 'retire');
  const { only, discard } = options;
  const isList = Array.isArray(only) && only.length > 0 && only.every((name) => typeof name === 'string');
  check.that(only === undefined || isList, 'only', 'a list of names, one or more', only);
  check.boolean('discard', discard);
}

/**
 * Returns the result of a retirement that changed something.
 *
 * @throws {NotSubscribedError | ServiceRunningError | PendingEventsError} if it did not
 */
export function retireResult(retirement: Retirement, service: string, { only = [] }: RetireOptions): RetireResult {
  if (retirement.status === 'none') throw new NotSubscribedError(service, only, retirement.services);
  if (retirement.status === 'running') {
    throw new ServiceRunningError(service, workflowOf(retirement.type) ?? retirement.type);
  }
  const { events, deadLetters } = retirement;
  if (retirement.status === 'pending') throw new PendingEventsError(service, events, deadLetters);
  return { events, deadLetters };
}

/**
 * Time for which a connection counts as one of the last of its service after its end, while others continue: the
 * processes of a service end one after the other.
 */
export const formerConnectionMs: number = 10 * minuteMs;

/** Returns the description of a connection that has ended: with the property `isStopped`. */
export function stoppedDescription(description: string): string {
  return JSON.stringify({ ...parsed(description), isStopped: true });
}

/** Returns the service that a description names; `undefined` if it names none. */
export function describedService(description: string): string | undefined {
  const service = parsed(description)['service'];
  return typeof service === 'string' ? service : undefined;
}

/** Something else may have changed a stored description: what is no object has no properties. */
function parsed(description: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(description);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
