/**
 * Runs scripts of package.json side by side: `tsx scripts/side-by-side.ts lint typecheck`. Prints the output of each when
 * it ends, and fails if one fails.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Runs a script and prints its output. Returns if it succeeded. */
function run(script: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(`npm run --silent ${script}`, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.once('close', (code) => {
      process.stdout.write(
        `${code === 0 ? 'passed' : 'FAILED'}: npm run ${script}\n${Buffer.concat(output).toString()}`,
      );
      resolve(code === 0);
    });
  });
}

const waiting = process.argv.slice(2);

/** Runs scripts, one after another, until none is left. */
async function runWaiting(): Promise<void> {
  for (let script = waiting.shift(); script !== undefined; script = waiting.shift()) {
    if (!(await run(script))) process.exitCode = 1;
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, runWaiting));
