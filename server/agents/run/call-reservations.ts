import { quote } from '../../errors.js';
import { limitsOf } from '../../hub/events/attempt-ctx.js';
import type { LimitKeeper, Reservation } from '../../hub/limits/limit-keeper.js';
import type { SpendChange } from '../../hub/limits/spend-state.js';
import type { Clock } from '../../transports/clock.js';
import { type AbortableWaits, delay } from '../abortable.js';
import { type AgentContext, handlerContextOf } from '../agent/agent-context.js';
import type { AgentSpec } from '../agent-spec.js';
import { UnknownPriceError } from '../errors.js';
import type { ModelOptions } from '../model/model-provider.js';
import { costOf } from '../model/price.js';
import type { ReachedSpendLimit, SpendWindow, TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { RunRequest } from './run-request.js';

/** Tokens of an answer that are reserved if its model has no `maxTokens`. */
const defaultAnswerTokens = 2_048;

/** Model call whose spending is reserved. */
export interface ReservedCall {
  /** Replaces the reserved amounts by what the call spent: nothing without a usage. Never rejects. */
  settle(usage: TokenUsage | undefined): Promise<void>;
}

interface Taken {
  readonly window: SpendWindow;
  readonly amount: number;
  readonly reservation: Reservation;
}

/** Reserves what the model calls of one run may spend under the spending limits of its agent and of those above it. */
export class CallReservations {
  readonly #keeper: LimitKeeper;
  readonly #windows: readonly SpendWindow[];
  readonly #ledger: TokenLedger;
  readonly #clock: Clock;
  readonly #waits: AbortableWaits;
  readonly #ctx: Pick<AgentContext, 'logger'>;

  constructor(
    keeper: LimitKeeper,
    windows: readonly SpendWindow[],
    ledger: TokenLedger,
    clock: Clock,
    waits: AbortableWaits,
    ctx: Pick<AgentContext, 'logger'>,
  ) {
    this.#keeper = keeper;
    this.#windows = windows;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#waits = waits;
    this.#ctx = ctx;
  }

  /**
   * Reserves a call under all limits. Waits while only reservations stand in the way, and reserves nothing meanwhile:
   * calls would wait for each other. Resolves with the limit that has no room.
   *
   * @param prompt tokens of the prompt
   * @param maxTokens limit of this call, which a budget may have lowered
   * @throws {UnknownPriceError} if a cost is limited, and the model has no price
   */
  async reserve(
    model: ModelOptions,
    prompt: number,
    maxTokens: number = Number.POSITIVE_INFINITY,
  ): Promise<ReservedCall | ReachedSpendLimit> {
    const usage = toUsage(prompt, Math.min(maxTokens, model.maxTokens ?? defaultAnswerTokens));
    for (;;) {
      const taken: Taken[] = [];
      const obstacle = await this.#take(taken, model.model, usage);
      if (obstacle === undefined) return { settle: (spent) => this.#settle(taken, spent) };
      await this.#settle(taken, undefined);
      if (!obstacle.change.isHeld) return limitOf(obstacle);
      await delay(this.#clock, obstacle.change.waitMs ?? 1, this.#waits.signal);
    }
  }

  /** Reserves a call under all limits, until one has no room. Adds to `taken` what it reserves. */
  async #take(
    taken: Taken[],
    model: string,
    usage: TokenUsage,
  ): Promise<{ readonly window: SpendWindow; readonly change: SpendChange } | undefined> {
    try {
      for (const window of this.#windows) {
        const amount = window.unit === 'tokens' ? usage.totalTokens : this.#costOf(model, usage);
        const result = await this.#keeper.reserve(window, amount);
        if (!('settle' in result)) return { window, change: result };
        taken.push({ window, amount, reservation: result });
      }
      return undefined;
    } catch (error) {
      await this.#settle(taken, undefined);
      throw error;
    }
  }

  #costOf(model: string, usage: TokenUsage): number {
    const price = this.#ledger.priceOf(model);
    if (price === undefined) throw new UnknownPriceError(model);
    const input = Math.max(price.input, price.cacheWrite ?? 0);
    return costOf(usage, { ...price, input });
  }

  async #settle(taken: readonly Taken[], usage: TokenUsage | undefined): Promise<void> {
    await Promise.all(
      taken.map(async ({ window, amount, reservation }) => {
        try {
          await reservation.settle(spentIn(window, amount, usage));
        } catch (err) {
          const { agent, unit } = window;
          this.#ctx.logger.warn({ err, unit }, `a call counts as reserved under spendLimits of agent ${quote(agent)}`);
        }
      }),
    );
  }
}

/** Returns what a call spent. One whose usage was not reported counts at least as reserved. */
function spentIn({ unit }: SpendWindow, reserved: number, usage: TokenUsage | undefined): number {
  if (usage === undefined) return 0;
  const spent = unit === 'tokens' ? usage.totalTokens : (usage.cost ?? reserved);
  return usage.estimated ? Math.max(spent, reserved) : spent;
}

function toUsage(promptTokens: number, completionTokens: number): TokenUsage {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

function limitOf({
  window,
  change,
}: {
  readonly window: SpendWindow;
  readonly change: SpendChange;
}): ReachedSpendLimit {
  const { agent, unit, key, rule } = window;
  const { waitMs: retryAfterMs } = change;
  return {
    agent,
    max: rule.max,
    perMs: rule.perMs,
    unit,
    ...(key !== undefined && { key }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Returns the reservations of a run; `undefined` without spending limits. */
export function reservationsOf(
  { clock }: AgentSpec,
  { hubCtx }: RunRequest,
  ledger: TokenLedger,
  waits: AbortableWaits,
  ctx: Pick<AgentContext, 'logger'>,
): CallReservations | undefined {
  if (ledger.windows === undefined) return undefined;
  const keeper = limitsOf(hubCtx && handlerContextOf(hubCtx));
  return new CallReservations(keeper, ledger.windows, ledger, clock, waits, ctx);
}
