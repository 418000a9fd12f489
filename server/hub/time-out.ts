import { InvalidOptionError } from '../errors.js';

// setTimeout's longest.
const maxTimeoutMs = 2 ** 31 - 1;

/** @throws {InvalidOptionError} */
export function checkTimeout(timeoutMs: unknown, owner: string): void {
  const isOk = timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= maxTimeoutMs);
  if (!isOk) {
    throw new InvalidOptionError(
      `timeoutMs of ${owner}`,
      `milliseconds, over 0 and at most ${maxTimeoutMs}`,
      timeoutMs,
    );
  }
}
