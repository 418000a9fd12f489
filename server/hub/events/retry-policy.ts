import { isFatal, RetryAfterError } from '../../errors.js';
import { OptionChecker } from '../../options.js';

/** Retry policy: number of attempts and delays between them. */
export interface RetryConfig {
  /** Maximum number of attempts, the first included. @default 3 */
  maxAttempts?: number;
  /** Delay before the second attempt, in milliseconds. @default 500 */
  initialDelayMs?: number;
  /** Maximum of a computed delay, in milliseconds. @default 30_000 */
  maxDelayMs?: number;
  /** Factor by which each delay exceeds the previous one, 1 or more. @default 2 */
  factor?: number;
  /**
   * Full jitter: draws each delay evenly from 0 to its computed value. Events that fail at the same time are then
   * not retried at the same time.
   * @default true
   * @see Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
   */
  jitter?: boolean;
  /**
   * Predicate that makes a failure terminal by returning `false`, or a promise of it. Not called for a fatal error,
   * which is always terminal. If it throws or rejects, the failure is terminal and the error is logged.
   */
  retryIf?: (error: unknown, attempt: number) => boolean | PromiseLike<boolean>;
}

/** {@link RetryConfig} with defaults. */
export interface ResolvedRetry {
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
  readonly jitter: boolean;
  /** If absent, every failure except a fatal one is retried. */
  readonly retryIf?: (error: unknown, attempt: number) => boolean | PromiseLike<boolean>;
}

const retryOptions = ['maxAttempts', 'initialDelayMs', 'maxDelayMs', 'factor', 'jitter', 'retryIf'];

/** Checks a retry policy and fills in defaults. @throws {InvalidOptionError} */
export function resolveRetry(config: RetryConfig, owner: string): ResolvedRetry {
  const check = new OptionChecker(config, retryOptions, owner, 'retry');
  const { maxAttempts = 3, initialDelayMs = 500, maxDelayMs = 30_000, factor = 2, jitter = true, retryIf } = config;
  check.count('maxAttempts', maxAttempts);
  check.durationMs('initialDelayMs', initialDelayMs);
  check.durationMs('maxDelayMs', maxDelayMs);
  check.that(Number.isFinite(factor) && factor >= 1, 'factor', 'a number, 1 or more', factor);
  check.boolean('jitter', jitter);
  check.function('retryIf', retryIf);
  return { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter, ...(retryIf && { retryIf }) };
}

/**
 * Returns the delay in milliseconds after failed attempt number `attempt`, or `undefined` if the failure is terminal.
 * Returns a promise if `retryIf` does.
 *
 * @param random source of numbers in [0, 1); called only if the policy has jitter
 */
export function nextDelayMs(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  random: () => number = Math.random,
): number | undefined | Promise<number | undefined> {
  if (retry === undefined || attempt >= retry.maxAttempts || isFatal(error)) return undefined;
  const delayIf = (isRetried: boolean): number | undefined =>
    isRetried ? delayAfter(retry, attempt, error, random) : undefined;
  const answer = retry.retryIf === undefined || retry.retryIf(error, attempt);
  return typeof answer === 'object' ? Promise.resolve(answer).then(delayIf) : delayIf(answer);
}

function delayAfter(retry: ResolvedRetry, attempt: number, error: unknown, random: () => number): number {
  if (RetryAfterError.is(error)) return error.retryAfterMs;
  const delayMs = Math.min(
    retry.maxDelayMs,
    retry.initialDelayMs * Math.min(retry.factor ** (attempt - 1), Number.MAX_VALUE),
  );
  return retry.jitter ? random() * delayMs : delayMs;
}
