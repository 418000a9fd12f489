import type { Clock, Timer } from '../../transports/clock.js';
import { nodeCrypto } from '../../transports/derived-ids.js';
import type { KeyValueStore } from '../../transports/key-values.js';
import { describedRule, type Limit, type LimitDescription, placeOf, stateKeyOf } from './limit.js';
import { type LimitChange, type LimitRule, leaseMs, renewPermits, returnPermits, takePermits } from './limit-state.js';
import type { SpendPlace } from './spend-limit.js';
import { renewSpend, reserveSpend, type SpendChange, settleSpend } from './spend-state.js';

/** Longest time that a durable run or a handler waits in its process for a permit, in milliseconds. */
export const longestWaitMs = 1_000;

/** Right to start under a limit. */
export interface Permit {
  /** Returns the permit of a concurrency; the start of a rate counts. Resolves when another one can take it. Never rejects. */
  release(): Promise<void>;
}

/** Amount of a spending limit that is reserved for a call. */
export interface Reservation {
  /** Replaces the reserved amount by what the call spent. Rejects if the transport is unavailable: the amount then counts. */
  settle(spent: number): Promise<void>;
}

/** Permits and reservations of one state, which the process renews. */
interface HeldLeases {
  readonly ids: Set<string>;
  readonly renew: (state: string | undefined, now: number, ids: ReadonlySet<string>) => LimitChange;
}

/** Options of {@link LimitKeeper.acquire}. */
export interface AcquireOptions {
  /** Longest time to wait, in milliseconds. @default no limit */
  readonly maxWaitMs?: number;
  /** Returns `true` if nobody waits any more. */
  readonly isOver: () => boolean;
  /** Ends a wait at once. */
  readonly signal?: AbortSignal | undefined;
}

interface Request {
  readonly id: string;
  readonly resolve: (result: Permit | number) => void;
  readonly reject: (error: unknown) => void;
}

interface PlacedRequests {
  readonly rule: LimitRule;
  requests: Request[];
}

/**
 * Takes permits of limits from a transport: one value per limit and key, changed by compare-and-set. Requests that a
 * process makes meanwhile share the next change. A permit of a concurrency is a lease that the process renews.
 */
export class LimitKeeper {
  readonly #kv: KeyValueStore;
  readonly #clock: Clock;
  /** By the key of the state. */
  readonly #requests = new Map<string, PlacedRequests>();
  readonly #held = new Map<string, HeldLeases>();
  /** By the key of the state: resolves when the last change of a spending limit by this process has ended. */
  readonly #lines = new Map<string, Promise<unknown>>();
  #renewal: Timer | undefined;

  /** @param clock measures waits in the process */
  constructor(kv: KeyValueStore, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /**
   * Resolves with a permit, or with the milliseconds until one may be free, if they exceed `maxWaitMs` or nobody waits any
   * more. Among those that wait there is no order.
   */
  async acquire(
    limit: Limit,
    { maxWaitMs = Number.POSITIVE_INFINITY, isOver, signal }: AcquireOptions,
  ): Promise<Permit | number> {
    const until = this.#clock.monotonic() + maxWaitMs;
    for (;;) {
      const result = await this.#request(limit);
      if (typeof result !== 'number') {
        if (!isOver()) return result;
        await result.release();
        return 0;
      }
      if (isOver() || this.#clock.monotonic() + result > until) return result;
      await this.#pause(result, signal);
    }
  }

  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal?.removeEventListener('abort', end);
        timer.cancel();
        resolve();
      };
      const timer = this.#clock.after(ms, end);
      signal?.addEventListener('abort', end);
    });
  }

  /** Calls `fn` with a permit, however long it takes to get one. Rejects with the reason of an abort meanwhile. */
  async run<T>(
    limit: Limit,
    { signal }: { readonly signal: AbortSignal | undefined },
    fn: () => PromiseLike<T>,
  ): Promise<T> {
    const permit = await this.acquire(limit, { isOver: () => signal?.aborted === true, signal });
    if (typeof permit === 'number') throw signal?.reason;
    try {
      return await fn();
    } finally {
      void permit.release();
    }
  }

  #request(limit: Limit): Promise<Permit | number> {
    return new Promise((resolve, reject) => {
      const { rule, stateKey } = placeOf(limit);
      const placed = this.#requests.get(stateKey);
      const request = { id: nodeCrypto().randomUUID().slice(0, 13), resolve, reject };
      if (placed !== undefined) {
        placed.requests.push(request);
        return;
      }
      const added = { rule, requests: [request] };
      this.#requests.set(stateKey, added);
      void this.#serve(stateKey, added);
    });
  }

  /** Serves the requests for one state, those of each round in one change, until there are none. */
  async #serve(stateKey: string, placed: PlacedRequests): Promise<void> {
    while (placed.requests.length > 0) {
      const requests = placed.requests;
      placed.requests = [];
      try {
        const ids = requests.map(({ id }) => id);
        const { taken, waitMs } = await this.#change(stateKey, (state, now) =>
          takePermits(placed.rule, state, now, ids),
        );
        for (const [index, { id, resolve }] of requests.entries()) {
          resolve(index < taken ? this.#permit(stateKey, placed.rule, id) : waitMs);
        }
      } catch (error) {
        for (const { reject } of requests) reject(error);
      }
    }
    this.#requests.delete(stateKey);
  }

  async #change<T extends LimitChange>(
    stateKey: string,
    change: (state: string | undefined, now: number) => T,
  ): Promise<T> {
    for (;;) {
      const [state, now] = await Promise.all([this.#kv.get(stateKey), this.#kv.now()]);
      const changed = change(state, now);
      const { ttlMs } = changed;
      if (changed.state === state || (await this.#kv.compareAndSet(stateKey, state, changed.state, { ttlMs })))
        return changed;
    }
  }

  #permit(stateKey: string, rule: LimitRule, id: string): Permit {
    if (!('concurrency' in rule)) return rateStart;
    this.#hold(stateKey, id, renewPermits);
    return { release: () => this.#release(stateKey, id) };
  }

  /**
   * Reserves an amount of a spending limit, which the process renews until it is settled. Resolves with what stands in the
   * way if there is no room: see `isHeld` and `waitMs`.
   */
  async reserve({ rule, stateKey }: SpendPlace, amount: number): Promise<Reservation | SpendChange> {
    const id = nodeCrypto().randomUUID().slice(0, 13);
    const change = await this.#changeInLine(stateKey, (state, now) => reserveSpend(rule, state, now, id, amount));
    if (!change.isReserved) return change;
    this.#hold(stateKey, id, (state, now, ids) => renewSpend(rule, state, now, ids));
    return {
      settle: async (spent) => {
        this.#drop(stateKey, id);
        await this.#changeInLine(stateKey, (state, now) => settleSpend(rule, state, now, id, spent));
      },
    };
  }

  /** Changes a state after the earlier changes of this process, which would fail each other's compare-and-set. */
  #changeInLine<T extends LimitChange>(
    stateKey: string,
    change: (state: string | undefined, now: number) => T,
  ): Promise<T> {
    const before = this.#lines.get(stateKey) ?? Promise.resolve();
    const own = before.then(() => this.#change(stateKey, change));
    const line = own.then(
      () => {},
      () => {},
    );
    this.#lines.set(stateKey, line);
    void line.then(() => {
      if (this.#lines.get(stateKey) === line) this.#lines.delete(stateKey);
    });
    return own;
  }

  #hold(stateKey: string, id: string, renew: HeldLeases['renew']): void {
    const held = this.#held.get(stateKey) ?? { ids: new Set(), renew };
    held.ids.add(id);
    this.#held.set(stateKey, held);
    this.#scheduleRenewal();
  }

  /** Renews a permit or a reservation no more. Returns `false` if the process does not hold it. */
  #drop(stateKey: string, id: string): boolean {
    const held = this.#held.get(stateKey);
    if (held?.ids.delete(id) !== true) return false;
    if (held.ids.size === 0) this.#held.delete(stateKey);
    if (this.#held.size === 0) {
      this.#renewal?.cancel();
      this.#renewal = undefined;
    }
    return true;
  }

  async #release(stateKey: string, id: string): Promise<void> {
    if (!this.#drop(stateKey, id)) return;
    // Otherwise its lease ends.
    await this.#change(stateKey, (state, now) => returnPermits(state, now, new Set([id]))).catch(() => {});
  }

  #scheduleRenewal(): void {
    if (this.#renewal !== undefined || this.#held.size === 0) return;
    this.#renewal = this.#clock.after(leaseMs / 3, () => {
      this.#renewal = undefined;
      // A renewal that fails is repeated before the lease ends.
      for (const [stateKey, { ids, renew }] of this.#held) {
        void this.#change(stateKey, (state, now) => renew(state, now, ids)).catch(() => {});
      }
      this.#scheduleRenewal();
    });
    this.#renewal.unref?.();
  }
}

const rateStart: Permit = { release: async () => {} };

/** Returns `true` if no permit of a limit is free now. */
export async function isUsedUp(limit: LimitDescription, kv: KeyValueStore): Promise<boolean> {
  const rule = describedRule(limit);
  const [state, now] = await Promise.all([kv.get(stateKeyOf(rule, [limit.name])), kv.now()]);
  return takePermits(rule, state, now, ['probe']).taken === 0;
}
