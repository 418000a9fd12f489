/**
 * Writes the built page into the module that the dashboard serves it from.
 *
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { embedPage, maxGzipBytes } from './embed-page.js';

const pageFile = fileURLToPath(new URL('../dist/page/index.html', import.meta.url));
const moduleFile = fileURLToPath(new URL('../server/dashboard/html.generated.ts', import.meta.url));

function main(): void {
  if (!existsSync(pageFile)) throw new Error('dist/page/index.html is missing: npm run build:page');
  const { source, bytes } = embedPage(readFileSync(pageFile, 'utf8'));
  const standing = existsSync(moduleFile) ? readFileSync(moduleFile, 'utf8') : undefined;
  // Left alone where it is the same, so that nothing that watches it starts anew.
  if (standing !== source) writeFileSync(moduleFile, source);
  console.log(`page: ${bytes.html} bytes, ${bytes.gzip} gzipped (of ${maxGzipBytes}), ${bytes.brotli} in brotli`);
}

try {
  main();
} catch (error) {
  console.error(`embed-dashboard: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
