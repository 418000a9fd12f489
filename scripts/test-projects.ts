/**
 * Limits of the tests, and the files that need a server.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { importsOf } from './imports.js';

const isCi = Boolean(process.env['CI']);

/** Time after which a test or a hook hangs. A machine of a CI service may have more to do than it can. */
export const hangMs: number = isCi ? 600_000 : 120_000;

/** Time for which a test waits for a condition that it polls. */
export const patienceMs: number = isCi ? 60_000 : 5_000;

/** Returns the test files that start a Redis server. */
export function testsOnRedis(): string[] {
  return testsThatImport('scripts/redis-server.ts');
}

/** Returns the test files that start a Postgres server. */
export function testsOnPostgres(): string[] {
  return testsThatImport('scripts/postgres-server.ts');
}

/** Returns the test files that import a file, directly or through others. */
function testsThatImport(file: string): string[] {
  const listing = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'server', 'scripts', 'examples'],
    { cwd: import.meta.dirname.replace(/[\\/]scripts$/, ''), encoding: 'utf8' },
  );
  const paths = listing.split('\n').filter((path) => path.endsWith('.ts'));
  const importers = new Map<string, string[]>();
  for (const { from, to } of importsOf(paths)) {
    const imported = to.replace(/\.js$/, '.ts');
    importers.set(imported, [...(importers.get(imported) ?? []), from]);
  }
  const found = new Set([file]);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return [...found].filter((path) => path.endsWith('.test.ts'));
}
