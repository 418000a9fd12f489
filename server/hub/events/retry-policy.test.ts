import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FatalError, InvalidOptionError, RetryAfterError } from '../../errors.js';
import { nextDelayMs, resolveRetry } from './retry-policy.js';

const error = new Error('x');

describe('nextDelayMs', () => {
  it.each([
    [{}, 1, 0.5, 250],
    [{}, 2, 0.5, 500],
    [{}, 3, 0.5, undefined],
    [{ jitter: false }, 1, 0, 500],
    [{ jitter: false, maxAttempts: 10 }, 5, 0, 8_000],
    [{ jitter: false, maxAttempts: 10 }, 9, 0, 30_000],
    [{ jitter: false, factor: 1, initialDelayMs: 70 }, 2, 0, 70],
    [{ maxAttempts: 1 }, 1, 0, undefined],
    [{ jitter: false, initialDelayMs: 0, maxAttempts: 5_000 }, 4_000, 0, 0],
  ])('for %j after attempt %i with random %d returns %j', (config, attempt, random, expected) => {
    expect(nextDelayMs(resolveRetry(config, 'a'), attempt, error, () => random)).toBe(expected);
  });

  it('returns undefined without a policy, for a fatal error, and if retryIf returns false', () => {
    const asked: unknown[] = [];
    const retryIf = (thrown: unknown, attempt: number): boolean => asked.push([thrown, attempt]) < 0;
    expect(nextDelayMs(undefined, 1, error)).toBeUndefined();
    expect(nextDelayMs(resolveRetry({ retryIf }, 'a'), 1, new FatalError('x'))).toBeUndefined();
    expect(asked).toEqual([]);
    expect(nextDelayMs(resolveRetry({ retryIf }, 'a'), 2, error)).toBeUndefined();
    expect(asked).toEqual([[error, 2]]);
  });

  it('returns the delay of a RetryAfterError, even above maxDelayMs', () => {
    expect(nextDelayMs(resolveRetry({}, 'a'), 1, new RetryAfterError(90_000))).toBe(90_000);
  });

  it('stays within its bounds for any policy and attempt', () => {
    const policy = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 10_000 }),
      initialDelayMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      maxDelayMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      factor: fc.double({ min: 1, max: 1e6, noNaN: true }),
      jitter: fc.boolean(),
    });
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 10_000 }), (config, attempt) => {
        const delayMs = nextDelayMs(resolveRetry(config, 'a'), attempt, error);
        if (attempt >= config.maxAttempts) return delayMs === undefined;
        return typeof delayMs === 'number' && delayMs >= 0 && delayMs <= config.maxDelayMs;
      }),
    );
  });
});

it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, Number.MAX_VALUE, '5' as never])(
  'RetryAfterError refuses %j',
  (ms) => {
    expect(() => new RetryAfterError(ms)).toThrow(InvalidOptionError);
  },
);
