/**
 * Runs the named suites, or all of them, each in its own process, and prints one table. Writes the rows and a
 * description of the machine to `results.json`.
 *
 * @module
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Row } from './measuring/row.js';
import { formatTable } from './measuring/table.js';
import { suites } from './suites.js';

const results = fileURLToPath(new URL('results.json', import.meta.url));
const worker = fileURLToPath(new URL('run-suite.ts', import.meta.url));

async function runSuite(name: string): Promise<readonly Row[]> {
  console.error(`measuring ${name} ...`);
  let rows: readonly Row[] | undefined;
  const child = fork(worker, [name]);
  // run-suite.ts sends nothing but its rows.
  child.on('message', (message) => {
    rows = message as readonly Row[];
  });
  await once(child, 'exit');
  if (rows === undefined) throw new Error(`the suite "${name}" ended without rows`);
  return rows;
}

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(suites, name));
if (unknown.length > 0) {
  throw new Error(`no suite "${unknown.join('", "')}": there are ${Object.keys(suites).join(', ')}`);
}

const rows: Row[] = [];
for (const name of named.length > 0 ? named : Object.keys(suites)) rows.push(...(await runSuite(name)));
const machine = { node: process.version, platform: `${process.platform} ${process.arch}`, cpu: cpus()[0]?.model };
console.log(`Node ${machine.node}, ${machine.platform}, ${machine.cpu}\n\n${formatTable(rows)}`);
writeFileSync(results, `${JSON.stringify({ measuredAt: new Date().toISOString(), ...machine, rows }, null, 2)}\n`);
