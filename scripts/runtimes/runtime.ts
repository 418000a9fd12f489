import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const cache = fileURLToPath(new URL('../../.cache/runtimes/', import.meta.url));

/** Runtime that the package supports, as a package of npm. */
export interface Runtime {
  readonly name: string;
  readonly isNode: boolean;
  /** Package with its version. */
  readonly source: string;
  /** Path of the program inside `node_modules`. */
  readonly program: string;
  /** Arguments before the path of a script. */
  readonly runArgs: readonly string[];
}

const bun = platform === 'linux' && arch === 'x64' ? 'bun-linux-x64-baseline' : `bun-${platform}-${cpuOf('aarch64')}`;
const deno = `${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`;

/** Supported runtimes: the newest version of each major of Node, Bun and Deno. */
export const runtimes: readonly Runtime[] = [
  ...['20', '22', '24', '26'].map((major) => ({
    name: `node-${major}`,
    isNode: true,
    source: `node-${platform}-${arch}@${major}`,
    program: `node-${platform}-${arch}/bin/node`,
    runArgs: [],
  })),
  { name: 'bun', isNode: false, source: `@oven/${bun}@1`, program: `@oven/${bun}/bin/bun`, runArgs: ['run'] },
  {
    name: 'deno',
    isNode: false,
    source: 'deno@2',
    program: `@deno/${deno}/deno`,
    runArgs: ['run', '--allow-all'],
  },
];

function cpuOf(arm: string): string {
  return arch === 'arm64' ? arm : arch;
}

/**
 * Returns the path of a runtime's program. Installs it into `.cache/runtimes` if it is not there.
 *
 * @throws {Error} if npm has no such package for this system
 */
export async function installRuntime({ name, source, program }: Runtime): Promise<string> {
  const folder = `${cache}${name}`;
  const path = `${folder}/node_modules/${program}`;
  if (existsSync(path)) return path;
  // An interrupted installation must not look like a complete one.
  const incomplete = `${folder}.incomplete`;
  await rm(incomplete, { recursive: true, force: true });
  await mkdir(incomplete, { recursive: true });
  await writeFile(`${incomplete}/package.json`, JSON.stringify({ private: true }));
  await execute('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', source], { cwd: incomplete });
  await rm(folder, { recursive: true, force: true });
  await rename(incomplete, folder);
  if (!existsSync(path)) throw new Error(`the package ${source} has no program ${program}`);
  return path;
}
