/**
 * Tests the package on every supported runtime: the library's unit tests on each Node, and a program that uses the
 * packed package on each Node, on Bun and on Deno. Arguments name the runtimes, such as `node-24 bun`; all by default.
 * Needs a build.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConsumerProject } from '../../packed/consumer-project.js';
import { startRedisServer } from '../redis-server.js';
import { installRuntime, type Runtime, runtimes } from './runtime.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tsc = join(root, 'node_modules/.bin/tsc');

const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
};

/** Runs a program with this process's output. Returns whether it ended with 0. */
async function succeeds(program: string, args: readonly string[], cwd: string): Promise<boolean> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'close');
  return code === 0;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !runtimes.some((runtime) => runtime.name === name));
if (unknown.length > 0) {
  console.error(`No such runtime: ${unknown.join(', ')}. There are ${runtimes.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
const chosen = runtimes.filter(({ name }) => wanted.length === 0 || wanted.includes(name));

const redis = await startRedisServer();
const project = await createConsumerProject();
try {
  await project.install('bullmq@6.7', 'ioredis@6', '@photostructure/sqlite@1.2', '@types/node@20');
  await copyFile(join(root, 'scripts/runtimes/smoke.ts'), join(project.folder, 'smoke.ts'));
  await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['smoke.ts'] }));
  await project.run(tsc);
  const failed: string[] = [];
  for (const runtime of chosen) if (!(await test(runtime))) failed.push(runtime.name);
  console.log(failed.length === 0 ? `Passed on ${chosen.map(({ name }) => name).join(', ')}.` : '');
  if (failed.length > 0) throw new Error(`failed on ${failed.join(', ')}`);
} finally {
  await project.remove();
  await redis.release();
}

async function test(runtime: Runtime): Promise<boolean> {
  const program = await installRuntime(runtime);
  console.log(`\n${runtime.name}: a program that uses the package`);
  const files = [redis.url, join(project.folder, `${runtime.name}.db`)];
  const isUsable = await succeeds(program, [...runtime.runArgs, 'smoke.js', ...files], project.folder);
  if (!runtime.isNode) return isUsable;
  console.log(`${runtime.name}: unit tests`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--project', 'server', '--project', 'alone', '--reporter', 'dot', 'server'];
  return (await succeeds(program, args, root)) && isUsable;
}
