import type { RateLimit } from '../../transports/delivery.js';
import { StartLog } from '../../transports/start-log.js';

/** Rule of a limit: starts per window, or permits at once. */
export type LimitRule = RateLimit | { readonly concurrency: number };

/** Time for which a permit of a process that dies stays taken, in milliseconds. */
export const leaseMs = 30_000;

// Another process may return a permit at any time.
const permitWaitMs = 100;

/** State of a limit after permits were taken or returned. */
export interface LimitChange {
  /** State as JSON. */
  readonly state: string;
  /** Milliseconds after which the state no longer matters. */
  readonly ttlMs: number;
}

/** Result of {@link takePermits}. */
export interface TakenPermits extends LimitChange {
  /** Number of permits that were taken: those of the first ids. */
  readonly taken: number;
  /** Milliseconds until the next permit may be free. */
  readonly waitMs: number;
}

/** A permit, and the time at which it is free without a renewal. */
type Lease = readonly [id: string, until: number];

/**
 * Takes permits for ids, as many as the rule allows.
 *
 * @param state last state; `undefined` if there is none
 * @param now time of the transport
 */
export function takePermits(
  rule: LimitRule,
  state: string | undefined,
  now: number,
  ids: readonly string[],
): TakenPermits {
  if ('concurrency' in rule) {
    const held = leasesIn(state, now);
    const taken = Math.max(0, Math.min(ids.length, rule.concurrency - held.length));
    const added = ids.slice(0, taken).map((id): Lease => [id, now + leaseMs]);
    return { ...written([...held, ...added]), taken, waitMs: permitWaitMs };
  }
  const log = state === undefined ? new StartLog(rule) : StartLog.restore(numbersIn(state));
  log.setRate(rule);
  let taken = 0;
  for (; taken < ids.length && log.openAt <= now; taken += 1) log.countStart(now);
  const waitMs = Math.max(1, log.openAt - now);
  return { state: JSON.stringify(log.stored()), ttlMs: Math.max(1, log.forgetAt - now), taken, waitMs };
}

/** Extends the leases of permits. Those that have ended, because the process could not renew them in time, stay free. */
export function renewPermits(state: string | undefined, now: number, ids: ReadonlySet<string>): LimitChange {
  return written(leasesIn(state, now).map(([id, until]): Lease => [id, ids.has(id) ? now + leaseMs : until]));
}

/** Returns permits. */
export function returnPermits(state: string | undefined, now: number, ids: ReadonlySet<string>): LimitChange {
  return written(leasesIn(state, now).filter(([id]) => !ids.has(id)));
}

function written(leases: readonly Lease[]): LimitChange {
  return { state: JSON.stringify(leases), ttlMs: leaseMs };
}

function leasesIn(state: string | undefined, now: number): readonly Lease[] {
  const value: unknown = state === undefined ? [] : JSON.parse(state);
  if (!Array.isArray(value) || !value.every(isLease)) throw new TypeError('the stored permits of a limit are damaged');
  return value.filter(([, until]) => until > now);
}

function isLease(value: unknown): value is Lease {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

function numbersIn(state: string): readonly number[] {
  const value: unknown = JSON.parse(state);
  if (!Array.isArray(value) || !value.every(Number.isFinite)) {
    throw new TypeError('the stored starts of a limit are damaged');
  }
  return value;
}
