import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));

/** A project of a user of the package, in a folder of its own. */
export interface ConsumerProject {
  readonly folder: string;
  /** Runs a command in the folder. @throws with all that it printed where it fails */
  run(command: string, ...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Installs the library as it would be published, and packages beside it. */
  install(...packages: readonly string[]): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/** Begins a project with a `package.json` of its own and nothing else. */
export async function createConsumerProject(): Promise<ConsumerProject> {
  const folder = await mkdtemp(join(isolatedFolder(), 'hubline-consumer-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const run: ConsumerProject['run'] = (command, ...args) => execute(command, args, { cwd: folder });
  return {
    folder,
    run,
    async install(...packages) {
      const packed = await execute('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
      await run('npm', 'install', '--no-audit', '--no-fund', `./${packed.stdout.trim()}`, ...packages);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A folder for temporary files from which Node finds no package that the project did not install. */
function isolatedFolder(): string {
  const candidates = [tmpdir(), '/var/tmp', homedir()];
  const isolated = candidates.find((folder) => !findsPackages(folder));
  if (isolated === undefined) throw new Error(`a node_modules stands in or above each of ${candidates.join(', ')}`);
  return isolated;
}

function findsPackages(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules'))) return true;
  const parent = dirname(folder);
  return parent !== folder && findsPackages(parent);
}
