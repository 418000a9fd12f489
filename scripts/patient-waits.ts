import { vi } from 'vitest';

// These end what hangs. On a busy machine a second, the default of `vi.waitFor`, is no time, and neither are twenty.
const patienceMs = 60_000;

type Options = Parameters<typeof vi.waitFor>[1];

function withPatience(options: Options): Options {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return { ...given, timeout: Math.max(given?.timeout ?? 0, patienceMs) };
}

const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, withPatience(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withPatience(options));
