import type { ConsumeOptions, Subscription } from '../../transport.js';
import type { LaneOptions } from '../consuming/worker-queue.js';
import type { ScriptArgument } from '../scripts/script.js';
import { sharedLane, unitOf } from '../names.js';

/** The queue in which a service keeps events of a subscription. */
function laneOf(service: string, { type, concurrency, rate }: Subscription): string {
  const hasOwnLane = concurrency !== undefined || rate !== undefined;
  return hasOwnLane ? unitOf(service, type) : sharedLane(service);
}

/**
 * The lanes that a process works on.
 *
 * @param heldLanes where events of the service wait, also of types that had another lane before
 */
export function laneOptions(
  service: string,
  { concurrency, subscriptions }: ConsumeOptions,
  heldLanes: readonly string[],
): LaneOptions[] {
  const lanes = new Map<string, LaneOptions>();
  for (const subscription of subscriptions) {
    const name = laneOf(service, subscription);
    lanes.set(name, { name, concurrency: subscription.concurrency ?? concurrency });
  }
  for (const name of heldLanes) {
    if (!lanes.has(name)) lanes.set(name, { name, concurrency });
  }
  return [...lanes.values()];
}

/** A service's subscriptions as `joinScript` takes them: where each type's events go. */
export function routeArguments(service: string, subscriptions: readonly Subscription[]): ScriptArgument[] {
  const rows = subscriptions.flatMap((subscription) => {
    const { type, concurrency = '', rate, keepsRuns, trigger } = subscription;
    const unit = unitOf(service, type);
    const lane = laneOf(service, subscription);
    const limits = [concurrency, rate?.max ?? '', rate === undefined ? '' : Math.ceil(rate.perMs)];
    const route = { unit, lane, type, ...(keepsRuns === true && { keepsRuns }) };
    const row = (source: string, field: string, target: object): ScriptArgument[][] => [
      [encodeURIComponent(source), field, JSON.stringify(target), unit, lane, ...limits],
    ];
    return [
      ...row(type, unit, route),
      ...(trigger === undefined
        ? []
        : row(trigger.type, `${unit} triggered`, { ...route, idSuffix: encodeURIComponent(trigger.idSuffix) })),
    ];
  });
  return [rows.length, ...rows.flat()];
}
