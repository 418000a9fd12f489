import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import preact from '@preact/preset-vite';
import { defaultExclude, defineConfig } from 'vitest/config';
import { hangMs, patienceMs, testsOnRedis } from './scripts/test-projects.js';

const onRedis = testsOnRedis();
const sources = (path: string): string => join(import.meta.dirname, 'server', path);

export default defineConfig({
  // Examples import the package by its name, as its users do.
  resolve: {
    alias: [
      { find: /^hubline$/, replacement: sources('index.ts') },
      { find: /^hubline\/redis$/, replacement: sources('transports/redis/index.ts') },
      { find: /^hubline\/sqlite$/, replacement: sources('transports/sqlite/index.ts') },
      { find: /^hubline\/transport$/, replacement: sources('transports/index.ts') },
      { find: /^hubline\/(\w+)$/, replacement: sources('$1/index.ts') },
    ],
  },
  test: {
    // The default leaves one processor out, which is half of a machine with two.
    maxWorkers: availableParallelism(),
    testTimeout: hangMs,
    hookTimeout: hangMs,
    setupFiles: ['scripts/patient-waits.ts', 'scripts/property-tests.ts'],
    expect: { poll: { timeout: patienceMs } },
    coverage: {
      provider: 'v8',
      include: ['server/**/*.ts', 'ui/**/*.{ts,tsx}'],
      exclude: ['**/*.generated.ts', '**/*.test-d.ts'],
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'server',
          environment: 'node',
          include: ['{server,scripts,examples}/**/*.test.ts'],
          exclude: [...defaultExclude, ...onRedis],
          globalSetup: ['scripts/lua/build-lua.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          environment: 'node',
          include: onRedis,
          globalSetup: ['scripts/lua/build-lua.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          environment: 'node',
          include: ['faults/**/*.test.ts'],
          globalSetup: ['scripts/lua/build-lua.ts', 'faults/workers/programs.ts'],
          // Each starts processes of its own, and is timed.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'packed',
          environment: 'node',
          include: ['packed/**/*.test.ts'],
          // They install the package.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        plugins: [preact()],
        test: {
          name: 'ui',
          environment: 'happy-dom',
          include: ['ui/**/*.test.{ts,tsx}'],
        },
      },
    ],
  },
});
