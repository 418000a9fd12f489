import { vi } from 'vitest';

/** Waits until an assertion holds. A busy machine or a Redis may take longer than the second of `vi.waitFor`. */
export function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, { timeout: 30_000, interval: 10 });
}
