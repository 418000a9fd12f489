import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import preact from '@preact/preset-vite';
import { defaultExclude, defineConfig } from 'vitest/config';
import { hangMs, patienceMs, testsOnPostgres, testsOnRedis } from './scripts/test-projects.js';

const onRedis = testsOnRedis();
const onPostgres = testsOnPostgres();
const generated = ['scripts/temporary-files.ts', 'scripts/lua/build-lua.ts', 'scripts/sql/build-sql.ts'];
const alone = 'server/**/*.alone.test.ts';
const shared = 'server/{agents,hub,transports}/**/*.test.ts';
const isSharing = (file: string): boolean => /^server\/(agents|hub|transports)\/(?!.*\.alone\.test)/.test(file);
const sources = (path: string): string => join(import.meta.dirname, 'server', path);

export default defineConfig({
  // Examples import the package by its name, as its users do.
  resolve: {
    alias: [
      { find: /^hubline$/, replacement: sources('index.ts') },
      { find: /^hubline\/postgres$/, replacement: sources('transports/postgres/index.ts') },
      { find: /^hubline\/redis$/, replacement: sources('transports/redis/index.ts') },
      { find: /^hubline\/sqlite$/, replacement: sources('transports/sqlite/index.ts') },
      { find: /^hubline\/transport$/, replacement: sources('transports/index.ts') },
      { find: /^hubline\/(\w+)$/, replacement: sources('$1/index.ts') },
    ],
  },
  test: {
    // Tests wait for servers, processes and leases for more than half of their time.
    maxWorkers: 3 * availableParallelism(),
    testTimeout: hangMs,
    hookTimeout: hangMs,
    setupFiles: ['scripts/patient-waits.ts', 'scripts/real-timers.ts', 'scripts/property-tests.ts'],
    // Tests provoke failures, which hubs without a logger print.
    onConsoleLog: (line) => (line.startsWith('hubline: ') ? false : undefined),
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
          include: [shared],
          exclude: [...defaultExclude, ...onRedis, ...onPostgres, alone],
          globalSetup: generated,
          // To load the modules for each file takes as long as most of the tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // Each file has a process: it measures its memory, or changes what it loads, as web frameworks do.
          name: 'alone',
          environment: 'node',
          // V8 shrinks the space of young objects (MB) of a process that waits for a busy machine. Then objects that
          // end soon are counted as old ones.
          execArgv: ['--min-semi-space-size=16'],
          include: [alone, '{server,scripts,examples}/**/*.test.ts'],
          exclude: [...defaultExclude, ...onRedis, ...onPostgres, shared.replace('*.test', '!(*.alone).test')],
          globalSetup: [...generated, 'examples/testing/programs.ts'],
        },
      },
      // A process runs many of their files, as those of `server`.
      ...[true, false].map((isShared) => ({
        extends: true as const,
        test: {
          name: isShared ? 'redis' : 'redis-alone',
          environment: 'node',
          include: onRedis.filter((file) => isSharing(file) === isShared),
          globalSetup: [...generated, 'examples/testing/programs.ts'],
          isolate: !isShared,
        },
      })),
      {
        extends: true,
        test: {
          name: 'postgres',
          environment: 'node',
          include: onPostgres.filter((file) => !onRedis.includes(file)),
          globalSetup: [...generated, 'examples/testing/programs.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          environment: 'node',
          include: ['faults/**/*.test.ts'],
          exclude: [...defaultExclude, ...(process.env['HUBLINE_FAULTS'] === 'long' ? [] : ['**/*.long.test.ts'])],
          // What the tests start has processes of its own.
          isolate: false,
          globalSetup: [...generated, 'faults/workers/programs.ts'],
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
          // A thread starts in less time than a process.
          pool: 'threads',
        },
      },
    ],
  },
});
