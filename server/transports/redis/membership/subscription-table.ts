import type { ConsumeOptions, Subscription } from '../../transport.js';
import { serviceTypeOf, sharedQueue } from '../names.js';
import type { ScriptArgument } from '../scripts/script.js';

/** Worker queue as one process consumes it. */
export interface QueueSettings {
  readonly name: string;
  /** Number of jobs that the process runs at once. */
  readonly concurrency: number;
}

/** Returns the queue for the events of a subscription: a separate one if the subscription has limits. */
function queueNameOf(service: string, { type, concurrency, rate }: Subscription): string {
  const hasLimits = concurrency !== undefined || rate !== undefined;
  return hasLimits ? serviceTypeOf(service, type) : sharedQueue(service);
}

/**
 * Returns the queues that a process consumes.
 *
 * @param filledQueues queues of the service that hold jobs: a type may have had another queue before
 */
export function consumedQueues(
  service: string,
  { concurrency, subscriptions }: ConsumeOptions,
  filledQueues: readonly string[],
): QueueSettings[] {
  const queues = new Map<string, QueueSettings>();
  for (const subscription of subscriptions) {
    const name = queueNameOf(service, subscription);
    queues.set(name, { name, concurrency: subscription.concurrency ?? concurrency });
  }
  for (const name of filledQueues) {
    if (!queues.has(name)) queues.set(name, { name, concurrency });
  }
  return [...queues.values()];
}

/** Returns the subscriptions of a service as the table that `joinScript` reads: a row per route. */
export function subscriptionTable(service: string, subscriptions: readonly Subscription[]): ScriptArgument[] {
  const rows = subscriptions.flatMap((subscription) => {
    const { type, concurrency = '', rate, keepsRuns, trigger } = subscription;
    const serviceType = serviceTypeOf(service, type);
    const queue = queueNameOf(service, subscription);
    const limits = [concurrency, rate?.max ?? '', rate === undefined ? '' : Math.ceil(rate.perMs)];
    const route = { serviceType, queue, type, ...(keepsRuns === true && { keepsRuns }) };
    const row = (source: string, field: string, target: object): ScriptArgument[][] => [
      [encodeURIComponent(source), field, JSON.stringify(target), serviceType, queue, ...limits],
    ];
    return [
      ...row(type, serviceType, route),
      ...(trigger === undefined
        ? []
        : row(trigger.type, `${serviceType} triggered`, {
            ...route,
            idSuffix: encodeURIComponent(trigger.idSuffix),
          })),
    ];
  });
  return [rows.length, ...rows.flat()];
}
