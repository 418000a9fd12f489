/**
 * Builds the page with Vite, and writes it into the module from which the dashboard serves it.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { embedPage } from './embed-page.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pageFile = join(root, 'dist/page/index.html');
const moduleFile = join(root, 'server/dashboard/html.generated.ts');

/** Builds and embeds the page. @throws {Error} if that fails; Vite has printed why */
export function buildPage(): void {
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  // In a process of its own: Vite sets NODE_ENV of the process that it builds in.
  const { status } = spawnSync(
    process.execPath,
    [vite, 'build', '--config', 'ui/vite.config.ts', '--logLevel', 'error'],
    { cwd: root, stdio: 'inherit' },
  );
  if (status !== 0) throw new Error('vite build failed');
  const source = embedPage(readFileSync(pageFile, 'utf8'));
  const current = existsSync(moduleFile) ? readFileSync(moduleFile, 'utf8') : undefined;
  // An unchanged module is not rewritten, so that watchers do not restart.
  if (current !== source) writeFileSync(moduleFile, source);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    buildPage();
  } catch (error) {
    console.error(`build-page: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
