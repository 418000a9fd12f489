import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const attempts = 10;

/** Processor milliseconds that importing a built module takes in a new process, the least of ten: other work is not its doing. */
export async function importTime(entry: string): Promise<number> {
  const url = new URL(`../dist/${entry}`, import.meta.url).href;
  const script = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(url)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);`;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < attempts; i += 1) {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
    least = Math.min(least, Number(stdout));
  }
  return least;
}
