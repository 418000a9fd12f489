import { InvalidOptionError, maxDurationMs } from '../../../errors.js';

/**
 * Returns a duration that scripts can compute with. A script must not meet a wrong one after its first write, because
 * Redis does not undo writes.
 *
 * @throws {InvalidOptionError}
 */
export function checkedMs(ms: number, name: string): number {
  if (ms >= 0 && ms <= maxDurationMs) return ms;
  throw new InvalidOptionError(name, `milliseconds, from 0 to ${maxDurationMs}`, ms);
}
