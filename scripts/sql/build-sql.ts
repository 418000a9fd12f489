/**
 * Composes the SQL files of the Postgres transport into the module that it loads them from.
 *
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../server/transports/postgres/schema', import.meta.url));
const moduleFile = join(folder, 'schema.generated.ts');
/** In the order of their execution. */
const files = ['tables', 'counting', 'acceptance', 'inbox', 'consuming', 'outcomes', 'retire', 'reads', 'values'];

/** Builds the module. Vitest calls this before the tests. */
export default function buildSql(): void {
  const [tables = '', ...functions] = files.map((name) => readFileSync(join(folder, `${name}.sql`), 'utf8'));
  const source = [
    '// Written by scripts/sql/build-sql.ts from the SQL files of the transport.',
    `export const tablesSql: string = ${textOf(tables)};`,
    `export const functionsSql: string = ${textOf(functions.join('\n'))};`,
    '',
  ].join('\n');
  const current = existsSync(moduleFile) ? readFileSync(moduleFile, 'utf8') : undefined;
  // An unchanged module is not rewritten, so that watchers do not restart.
  if (current !== source) writeFileSync(moduleFile, source);
}

function textOf(sql: string): string {
  const lines = sql.trimEnd().split('\n');
  return ['[', ...lines.map((line) => `  ${JSON.stringify(line)},`), `].join('\\n')`].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildSql();
