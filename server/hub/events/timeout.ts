import { InvalidOptionError } from '../../errors.js';

/** @throws {InvalidOptionError} */
export function checkTimeout(timeoutMs: unknown, owner: string): void {
  const isOk =
    timeoutMs === undefined || (typeof timeoutMs === 'number' && Number.isFinite(timeoutMs) && timeoutMs > 0);
  if (!isOk) throw new InvalidOptionError(`timeoutMs of ${owner}`, 'milliseconds, over 0', timeoutMs);
}
