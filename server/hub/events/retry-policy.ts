import { InvalidOptionError, isFatal, RetryAfterError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';

/** How often and when a failed attempt is made again. */
export interface RetryConfig {
  /** Attempts in all, the first included. @default 3 */
  maxAttempts?: number;
  /** Delay before the second attempt. @default 500 */
  initialDelayMs?: number;
  /** No computed delay is longer. @default 30_000 */
  maxDelayMs?: number;
  /** Each delay is this many times the one before. @default 2 */
  factor?: number;
  /**
   * Draw each delay evenly between 0 and its computed value ("full jitter"), so that many failures
   * at one time do not come back at one time.
   * @default true
   * @see Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
   */
  jitter?: boolean;
  /** `false` makes the failure terminal. Not asked for a fatal error, which always is. */
  retryIf?: (error: unknown, attempt: number) => boolean;
}

/** A {@link RetryConfig} with every default filled in. */
export interface ResolvedRetry {
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
  readonly jitter: boolean;
  /** Absent: every failure but a fatal one is tried again. */
  readonly retryIf?: (error: unknown, attempt: number) => boolean;
}

const retryNames = ['maxAttempts', 'initialDelayMs', 'maxDelayMs', 'factor', 'jitter', 'retryIf'];

/** Fills in defaults. @throws {InvalidOptionError} where a field has the wrong type or range */
export function resolveRetry(config: RetryConfig, owner: string): ResolvedRetry {
  if (typeof config !== 'object' || config === null) {
    throw new InvalidOptionError(`retry of ${owner}`, 'an object', config);
  }
  checkOptionNames(config, retryNames, `retry of ${owner}`);
  const { maxAttempts = 3, initialDelayMs = 500, maxDelayMs = 30_000, factor = 2, jitter = true, retryIf } = config;
  const check = (ok: boolean, field: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`retry.${field} of ${owner}`, expected, got);
  };
  check(Number.isInteger(maxAttempts) && maxAttempts >= 1, 'maxAttempts', 'a whole number, 1 or more', maxAttempts);
  check(isDelay(initialDelayMs), 'initialDelayMs', 'milliseconds, 0 or more', initialDelayMs);
  check(isDelay(maxDelayMs), 'maxDelayMs', 'milliseconds, 0 or more', maxDelayMs);
  check(Number.isFinite(factor) && factor >= 1, 'factor', 'a number, 1 or more', factor);
  check(typeof jitter === 'boolean', 'jitter', 'true or false', jitter);
  check(retryIf === undefined || typeof retryIf === 'function', 'retryIf', 'a function', retryIf);
  return { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter, ...(retryIf && { retryIf }) };
}

/**
 * Milliseconds to wait after failed attempt number `attempt`, or `undefined` where the failure is terminal.
 *
 * @param random a number in [0, 1), drawn only where the policy has jitter
 */
export function nextDelayMs(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  random: () => number = Math.random,
): number | undefined {
  if (retry === undefined || attempt >= retry.maxAttempts || isFatal(error)) return undefined;
  if (retry.retryIf !== undefined && !retry.retryIf(error, attempt)) return undefined;
  if (error instanceof RetryAfterError) return error.retryAfterMs;
  const delayMs = Math.min(
    retry.maxDelayMs,
    retry.initialDelayMs * Math.min(retry.factor ** (attempt - 1), Number.MAX_VALUE),
  );
  return retry.jitter ? random() * delayMs : delayMs;
}

function isDelay(ms: unknown): boolean {
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0;
}
