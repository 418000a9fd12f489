import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withVersion } from '../measuring/peer-version.js';
import type { Row, Target } from '../measuring/row.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const peers = ['moleculer', 'ai', '@openai/agents', '@bull-board/express'];
const target: Target = { of: 'figure', limit: 'at most', value: 8 };

interface Installed {
  readonly megabytes: number;
  /** Number of packages, dependencies included. */
  readonly packages: number;
}

/** Measures an install of Hubline into an empty folder next to peers of each part. */
export async function installSize(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'hubline-install-'));
  try {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
    const hubline = await install(join(folder, stdout.trim()), join(folder, 'hubline'));
    const rows: Row[] = [];
    for (const [index, peer] of peers.entries()) {
      const name = withVersion(peer);
      const other = await install(name.replace(/ (?=[^ ]+$)/, '@'), join(folder, String(index)));
      for (const unit of ['megabytes', 'packages'] as const) {
        rows.push({
          scenario: 'install',
          unit,
          hubline: hubline[unit],
          peer: { name, figure: other[unit] },
          ...(index === 0 && unit === 'megabytes' && { target }),
        });
      }
    }
    return rows;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function install(specifier: string, folder: string): Promise<Installed> {
  await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', specifier]);
  const modules = join(folder, 'node_modules');
  const lock: { packages: object } = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8'));
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size));
  return {
    megabytes: sizes.reduce((sum, size) => sum + size, 0) / 1e6,
    packages: Object.keys(lock.packages).length,
  };
}
