/**
 * Removes the declarations in `dist/` that no entry point of the package refers to.
 *
 * @module
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reachableDeclarations } from './published-files.js';

const root = join(import.meta.dirname, '../..');
const reachable = reachableDeclarations(root);
for (const path of readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })) {
  const file = join(root, 'dist', path);
  if (file.endsWith('.d.ts') && !reachable.has(file)) rmSync(file);
}
