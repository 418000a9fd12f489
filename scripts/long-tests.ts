/**
 * Runs the long form of tests: `tsx scripts/long-tests.ts faults` or `tsx scripts/long-tests.ts fuzz`. Further arguments
 * go to Vitest.
 *
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const [kind = '', ...rest] = process.argv.slice(2);
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Returns the test files with properties: those of their own, and those of the contract of transports. */
function propertyTests(): readonly string[] {
  const listing = execFileSync('git', ['ls-files', '*.test.ts'], { encoding: 'utf8' });
  return listing
    .split('\n')
    .filter((path) => path !== '' && /fast-check|describeTransport/.test(readFileSync(path, 'utf8')));
}

const forms: Readonly<Record<string, () => { readonly variable: string; readonly args: readonly string[] }>> = {
  faults: () => ({ variable: 'HUBLINE_FAULTS', args: ['--project', 'faults'] }),
  fuzz: () => ({
    variable: 'HUBLINE_FUZZ',
    args: ['server', 'redis', 'postgres', 'ui'].flatMap((name) => ['--project', name]).concat(propertyTests()),
  }),
};

const form = forms[kind]?.();
if (form === undefined) {
  console.error(`long-tests: ${JSON.stringify(kind)} must be one of ${Object.keys(forms).join(', ')}`);
  process.exitCode = 2;
} else {
  const env = { ...process.env, [form.variable]: 'long' };
  process.exitCode =
    spawnSync(process.execPath, [vitest, 'run', ...form.args, ...rest], { env, stdio: 'inherit' }).status ?? 1;
}
