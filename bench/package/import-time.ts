import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withVersion } from '../measuring/peer-version.js';
import type { Row, Target } from '../measuring/row.js';

const run = promisify(execFile);
const rounds = 7;

interface Import {
  /** Path below `dist/`. */
  readonly entry: string;
  readonly as: string;
  readonly peers: readonly string[];
  readonly target?: Target;
}

const imports: readonly Import[] = [
  { entry: 'index.js', as: 'hubline', peers: ['moleculer'] },
  {
    entry: 'agents/index.js',
    as: 'hubline/agents',
    peers: ['ai', '@openai/agents'],
    target: { of: 'figure', limit: 'at most', value: 20 },
  },
  { entry: 'dashboard/index.js', as: 'hubline/dashboard', peers: ['@bull-board/express'] },
];

/** Measures the import of each entry point in a new process. */
export async function importTime(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { entry, as, peers, target } of imports) {
    const own = new URL(`../../dist/${entry}`, import.meta.url).href;
    const [hubline = 0, ...figures] = await leastOf([own, ...peers]);
    for (const [index, peer] of peers.entries()) {
      rows.push({
        scenario: `import ${as} in a new process`,
        unit: 'ms of processor',
        hubline,
        peer: { name: withVersion(peer), figure: figures[index] ?? 0 },
        ...(index === 0 && target && { target }),
      });
    }
  }
  return rows;
}

/** Returns the minimum processor time of each import over several rounds: other load only adds to it. */
async function leastOf(specifiers: readonly string[]): Promise<number[]> {
  const least = specifiers.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, specifier] of specifiers.entries()) {
      least[index] = Math.min(least[index] ?? 0, await timeImport(specifier));
    }
  }
  return least;
}

async function timeImport(specifier: string): Promise<number> {
  const script = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);
    process.exit(0);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
  });
  return Number(stdout);
}
