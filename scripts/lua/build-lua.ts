/**
 * Composes the Lua files of the Redis transport into the module that it loads them from. Fails on text that is no Lua,
 * on names that are not declared and on includes that are not used.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { luaConstants } from '../../server/transports/redis/lua-constants.js';
import { type ComposedLibrary, composeLibrary } from './lua-library.js';

const folder = fileURLToPath(new URL('../../server/transports/redis', import.meta.url));
const moduleFile = join(folder, 'connection/scripts.generated.ts');

/** Builds the module. Vitest calls this before the tests. */
export default function buildLua(): void {
  const source = moduleOf(composeLibrary('scripts', readLua(), luaConstants));
  const current = existsSync(moduleFile) ? readFileSync(moduleFile, 'utf8') : undefined;
  // An unchanged module is not rewritten, so that watchers do not restart.
  if (current !== source) writeFileSync(moduleFile, source);
}

/** Returns the Lua files of the transport by their path. */
export function readLua(): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.lua'));
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

function moduleOf({ name, functions, lua }: ComposedLibrary): string {
  return [
    '// Written by scripts/lua/build-lua.ts from the Lua files of the transport.',
    `export const libraryName = ${JSON.stringify(name)};`,
    `export const libraryFunctions = ${JSON.stringify(functions, undefined, 2)} as const;`,
    'export const libraryText: string = [',
    ...lua.split('\n').map((line) => `  ${JSON.stringify(line)},`),
    `].join('\\n');`,
    '',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    buildLua();
  } catch (error) {
    console.error(`build-lua: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
