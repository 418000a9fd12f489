import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));

/** A user's project in a temporary folder. */
export interface ConsumerProject {
  readonly folder: string;
  /** Runs a command in the folder. @throws {Error} with its output if it fails */
  run(command: string, ...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Installs the packed library and other packages. */
  install(...packages: readonly string[]): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/** Creates a project that contains only a `package.json`. */
export async function createConsumerProject(): Promise<ConsumerProject> {
  const folder = await mkdtemp(join(isolatedFolder(), 'hubline-consumer-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  // A build that reports itself may wait for the network.
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  const run: ConsumerProject['run'] = (command, ...args) => execute(command, args, { cwd: folder, env });
  return {
    folder,
    run,
    async install(...packages) {
      const packed = await execute('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
      const options = ['--no-audit', '--no-fund', '--fetch-retries=5'];
      await run('npm', 'install', ...options, `./${packed.stdout.trim()}`, ...packages);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns a folder for temporary files that has no `node_modules` in it or above it. */
function isolatedFolder(): string {
  const candidates = [tmpdir(), '/var/tmp', homedir()];
  const isolated = candidates.find((folder) => !findsPackages(folder));
  if (isolated === undefined) throw new Error(`${candidates.join(', ')}: each has a node_modules in it or above it`);
  return isolated;
}

function findsPackages(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules'))) return true;
  const parent = dirname(folder);
  return parent !== folder && findsPackages(parent);
}
