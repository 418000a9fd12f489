/**
 * Writes the built page into the module from which the dashboard serves it.
 *
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { embedPage } from './embed-page.js';

const pageFile = fileURLToPath(new URL('../../dist/page/index.html', import.meta.url));
const moduleFile = fileURLToPath(new URL('../../server/dashboard/html.generated.ts', import.meta.url));

function main(): void {
  if (!existsSync(pageFile)) throw new Error('dist/page/index.html is missing; run npm run build:page');
  const source = embedPage(readFileSync(pageFile, 'utf8'));
  const current = existsSync(moduleFile) ? readFileSync(moduleFile, 'utf8') : undefined;
  // An unchanged module is not rewritten, so that watchers do not restart.
  if (current !== source) writeFileSync(moduleFile, source);
}

try {
  main();
} catch (error) {
  console.error(`embed-dashboard: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
