import { type LimitChange, leaseMs } from './limit-state.js';

/** Rule of a spending limit. */
export interface SpendRule {
  /** Maximum amount in any window of `perMs`. */
  readonly max: number;
  /** Length of the window, in milliseconds. */
  readonly perMs: number;
}

/** Amounts of a window. */
export interface Spending {
  /** Amount of the calls that have ended, and of those whose process died. */
  readonly spent: number;
  /** Amount that is reserved for calls that have not ended. */
  readonly reserved: number;
}

/** Result of {@link reserveSpend}. */
export interface SpendChange extends LimitChange, Spending {
  readonly isReserved: boolean;
  /** Milliseconds until room may be free: 0 if nothing was in the way, `undefined` if the amount exceeds the limit. */
  readonly waitMs: number | undefined;
  /** Only reservations stand in the way, which the end of their calls corrects. */
  readonly isHeld: boolean;
}

/** Amount that was spent at about one time: the first and the last time, and the amount. */
type Group = readonly [from: number, at: number, amount: number];

/** Amount that is reserved, and the time at which it counts as spent without a renewal. */
type Reservation = readonly [id: string, until: number, amount: number];

interface State {
  readonly groups: readonly Group[];
  readonly held: readonly Reservation[];
}

/** Amounts within this share of the window are one group, at the time of the last one. */
const groupShare = 1 / 60;
/** Maximum number of reservations of a limit and key at once. */
const maxHeld = 1_000;
const correctionWaitMs = 100;

/**
 * Reserves an amount, if the limit has room for it.
 *
 * @param state last state; `undefined` if there is none
 * @param now time of the transport
 */
export function reserveSpend(
  rule: SpendRule,
  state: string | undefined,
  now: number,
  id: string,
  amount: number,
): SpendChange {
  const current = read(rule, state, now);
  const { spent, reserved } = sums(current);
  const hasRoom = spent + reserved + amount <= rule.max && current.held.length < maxHeld;
  if (hasRoom) {
    const held = [...current.held, [id, now + leaseMs, amount] as const];
    const taken = { spent, reserved: reserved + amount };
    return { ...written(rule, { ...current, held }), ...taken, isReserved: true, waitMs: 0, isHeld: false };
  }
  const isHeld = spent + amount <= rule.max;
  const waitMs = isHeld ? correctionWaitMs : freeIn(rule, current.groups, spent, amount, now);
  return { ...written(rule, current), spent, reserved, isReserved: false, waitMs, isHeld };
}

/** Replaces a reservation by what was spent. One that its process could not renew in time counts twice. */
export function settleSpend(
  rule: SpendRule,
  state: string | undefined,
  now: number,
  id: string,
  amount: number,
): LimitChange {
  const { groups, held } = read(rule, state, now);
  return written(rule, { groups: added(rule, groups, now, amount), held: held.filter(([other]) => other !== id) });
}

/** Renews reservations, so that they do not count as spent yet. */
export function renewSpend(
  rule: SpendRule,
  state: string | undefined,
  now: number,
  ids: ReadonlySet<string>,
): LimitChange {
  const { groups, held } = read(rule, state, now);
  const renewed = held.map(([id, until, amount]): Reservation => [id, ids.has(id) ? now + leaseMs : until, amount]);
  return written(rule, { groups, held: renewed });
}

/** Returns what is spent and reserved now. */
export function readSpend(rule: SpendRule, state: string | undefined, now: number): Spending {
  return sums(read(rule, state, now));
}

function sums({ groups, held }: State): Spending {
  const spent = groups.reduce((sum, [, , amount]) => sum + amount, 0);
  return { spent, reserved: held.reduce((sum, [, , amount]) => sum + amount, 0) };
}

/** Returns the milliseconds until an amount has room; `undefined` if it exceeds the limit by itself. */
function freeIn(
  { max, perMs }: SpendRule,
  groups: readonly Group[],
  spent: number,
  amount: number,
  now: number,
): number | undefined {
  if (amount > max) return undefined;
  let left = spent;
  // Sums of costs are rounded: at the latest, all of it is free.
  let freeAt = now;
  for (const [, at, one] of groups) {
    if (left + amount <= max) break;
    left -= one;
    freeAt = at + perMs;
  }
  return Math.max(1, freeAt - now);
}

function read({ perMs }: SpendRule, state: string | undefined, now: number): State {
  const { groups, held }: State = state === undefined ? { groups: [], held: [] } : parse(state);
  const rule = { max: 0, perMs };
  let kept: readonly Group[] = groups.filter(([, at]) => at > now - perMs);
  // The call of a process that died may have been made.
  for (const [, until, amount] of held) {
    if (until <= now && until > now - perMs) kept = added(rule, kept, until, amount);
  }
  return { groups: kept, held: held.filter(([, until]) => until > now) };
}

function added({ perMs }: SpendRule, groups: readonly Group[], now: number, amount: number): readonly Group[] {
  if (amount === 0) return groups;
  const last = groups.at(-1);
  if (last === undefined || now - last[0] >= perMs * groupShare) return [...groups, [now, now, amount]];
  return [...groups.slice(0, -1), [last[0], Math.max(last[1], now), last[2] + amount]];
}

function written({ perMs }: SpendRule, state: State): LimitChange {
  return { state: JSON.stringify([state.groups, state.held]), ttlMs: perMs + leaseMs };
}

function parse(state: string): State {
  const value: unknown = JSON.parse(state);
  const [groups, held]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (isList(groups, isGroup) && isList(held, isReservation)) return { groups, held };
  throw new TypeError('the stored state of a spending limit is damaged');
}

function isList<T>(value: unknown, isOne: (each: unknown) => each is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne);
}

function isGroup(value: unknown): value is Group {
  return Array.isArray(value) && value.length === 3 && value.every(Number.isFinite);
}

function isReservation(value: unknown): value is Reservation {
  return Array.isArray(value) && typeof value[0] === 'string' && Number.isFinite(value[1]) && Number.isFinite(value[2]);
}
