import { vi } from 'vitest';
import { patienceMs } from './test-projects.js';

// On a busy machine a second, the default of `vi.waitFor`, is no time.

type Options = Parameters<typeof vi.waitFor>[1];

function withPatience(options: Options): Options {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return { ...given, timeout: Math.max(given?.timeout ?? 0, patienceMs) };
}

const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, withPatience(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withPatience(options));
