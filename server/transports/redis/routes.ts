import type { Subscription } from '../transport.js';
import type { ScriptArgument } from './lua/script.js';
import { sharedLane, unitOf } from './names.js';

/** The queue in which a service keeps events of a subscription. */
export function laneOf(service: string, { type, concurrency, rate }: Subscription): string {
  const hasOwnLane = concurrency !== undefined || rate !== undefined;
  return hasOwnLane ? unitOf(service, type) : sharedLane(service);
}

/** A service's subscriptions as `joinScript` takes them: where each type's events go. */
export function routeArguments(service: string, subscriptions: readonly Subscription[]): ScriptArgument[] {
  const rows = subscriptions.flatMap((subscription) => {
    const { type, concurrency = '', keepsRuns, trigger } = subscription;
    const unit = unitOf(service, type);
    const lane = laneOf(service, subscription);
    const route = { unit, lane, type, ...(keepsRuns === true && { keepsRuns }) };
    const row = (source: string, field: string, target: object): ScriptArgument[][] => [
      [encodeURIComponent(source), field, JSON.stringify(target), unit, lane, concurrency],
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
