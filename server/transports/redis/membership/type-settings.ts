import type { RateLimit, Subscription } from '../../transport.js';
import { encodeName, serviceTypeOf } from '../names.js';

/** One service type, and the settings of a process for it as the settlement reads them. */
export interface TypeSettings {
  readonly serviceType: string;
  readonly json: string;
}

/** Returns the settings of a subscription. Equal settings have equal JSON. */
export function typeSettings(service: string, subscription: Subscription): TypeSettings {
  const { type, concurrency, rate, keepsRuns, retain, trigger, perKey, debounce } = subscription;
  const settings = {
    type,
    concurrency,
    ...limitsOf(rate),
    keys: perKey === undefined ? undefined : { concurrency: perKey.concurrency, ...limitsOf(perKey.rate) },
    debounce: debounce === undefined ? undefined : { ms: debounce.ms, maxMs: debounce.maxMs },
    keepsRuns: keepsRuns === true ? true : undefined,
    keepCompleted: retain?.completed,
    keepFailed: retain?.failed,
    keepMs: retain?.ageMs === undefined ? undefined : Math.ceil(retain.ageMs),
    trigger: trigger === undefined ? undefined : encodeName(trigger),
  };
  return { serviceType: serviceTypeOf(service, type), json: JSON.stringify(settings) };
}

function limitsOf(rate: RateLimit | undefined): { readonly max?: number; readonly perMs?: number } {
  return rate === undefined ? {} : { max: rate.max, perMs: Math.ceil(rate.perMs) };
}
