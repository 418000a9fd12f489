import { afterEach, expect, it, vi } from 'vitest';
import { loadCopy, loadDriver, moduleForThreads } from './driver.js';

const installed = '@photostructure/sqlite';

/** Provides a `node:sqlite` of this version of SQLite; none without a version. */
function provideBuiltIn(version: string | undefined): unknown {
  class DatabaseSync {
    prepare = () => ({ get: () => ({ version }) });
    close = () => {};
  }
  const builtIn = { DatabaseSync, backup: async () => 'copied by Node' };
  vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => version && builtIn) as never);
  return DatabaseSync;
}

function provideInstalled(version: string | undefined): void {
  vi.doMock(installed, () => {
    if (version === undefined) throw new Error('not found');
    class DatabaseSync {
      prepare = () => ({ get: () => ({ version }) });
      close = () => {};
    }
    return { DatabaseSync, backup: async () => 'copied by the package' };
  });
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.doUnmock(installed);
});

it.each([
  ['3.51.3', undefined, 'Node'],
  ['3.51.2', '3.51.3', 'the package'],
  [undefined, '3.50.7', 'the package'],
])('with SQLite %s in Node and %s in the package, takes that of %s', async (builtIn, other, taken) => {
  const ofNode = provideBuiltIn(builtIn);
  provideInstalled(other);
  expect((await loadDriver())('x.db') instanceof (ofNode as new () => object)).toBe(taken === 'Node');
  expect(await (await loadCopy())(undefined as never, 'copy.db')).toBe(`copied by ${taken}`);
});

it.each([
  ['3.51.2', undefined, 'ERR_UNSUPPORTED_SQLITE', 'SQLite 3.51.2 can lose committed data'],
  [undefined, '3.50.6', 'ERR_UNSUPPORTED_SQLITE', 'SQLite 3.50.6 can lose committed data'],
  [undefined, undefined, 'ERR_MISSING_PACKAGE', '@photostructure/sqlite'],
])('with SQLite %s in Node and %s in the package, rejects with %s', async (builtIn, other, code, message) => {
  provideBuiltIn(builtIn);
  provideInstalled(other);
  for (const load of [loadDriver, loadCopy, moduleForThreads]) {
    await expect(load()).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  }
});
