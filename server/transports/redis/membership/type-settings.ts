import type { Subscription } from '../../transport.js';
import { serviceTypeOf } from '../names.js';

/** One service type, and the settings of a process for it as the settlement reads them. */
export interface TypeSettings {
  readonly serviceType: string;
  readonly json: string;
}

/** Returns the settings of a subscription. Equal settings have equal JSON. */
export function typeSettings(service: string, subscription: Subscription): TypeSettings {
  const { type, concurrency, rate, keepsRuns, trigger } = subscription;
  const settings = {
    type,
    concurrency,
    max: rate?.max,
    perMs: rate === undefined ? undefined : Math.ceil(rate.perMs),
    keepsRuns: keepsRuns === true ? true : undefined,
    trigger:
      trigger === undefined
        ? undefined
        : { type: encodeURIComponent(trigger.type), idSuffix: encodeURIComponent(trigger.idSuffix) },
  };
  return { serviceType: serviceTypeOf(service, type), json: JSON.stringify(settings) };
}
