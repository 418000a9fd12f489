import { UnexpectedDataError } from '../../errors.js';
import type { PostgresClient } from '../postgres-options.js';
import { functionsSql, tablesSql } from '../schema/schema.generated.js';

/** Statements that bring the tables of a schema from one version to the next, in order: the first one to version 1. */
const migrations: readonly string[] = [`SET LOCAL check_function_bodies = off;\n${tablesSql}\n${functionsSql}`];
const tableSql = 'CREATE TABLE IF NOT EXISTS hub.migrations (version int PRIMARY KEY)';

/** Schema and channel of a transport, in whose statements `hub.` stands for the schema. */
export interface SchemaName {
  /** Name of the notifications, and of the locks. */
  readonly channel: string;
  /** Schema as an identifier of SQL. */
  readonly quoted: string;
  /** Returns a statement for this schema. */
  sql(text: string): string;
}

/** Returns the schema of a name, which has letters, digits and `_` only. */
export function schemaName(schema: string): SchemaName {
  const [channel, quoted] = [`hubline_${schema}`, `"${schema}"`];
  return {
    channel,
    quoted,
    sql: (text) => text.replaceAll(/\bhub\./g, `${quoted}.`).replaceAll('hub_channel', channel),
  };
}

/** Returns all migrations as one script of SQL, for an empty schema. */
export function migrationScript(schema: string): string {
  const { quoted, sql } = schemaName(schema);
  const steps = migrations.map((text, index) => `${text}\nINSERT INTO hub.migrations VALUES (${index + 1});`);
  return [
    'BEGIN;',
    `CREATE SCHEMA IF NOT EXISTS ${quoted};`,
    sql(`${tableSql};`),
    sql(steps.join('\n')),
    'COMMIT;',
    '',
  ].join('\n');
}

/**
 * Brings the tables of a schema to the version of this package, in one transaction and one process at a time. If they have
 * this version, nothing is written, and no right to create anything is needed.
 *
 * @param isAllowed `false`: only checks the version
 * @returns the number of migrations that ran
 * @throws {UnexpectedDataError} if the tables have a later version, or an earlier one and `isAllowed` is `false`
 */
export async function migrate(client: PostgresClient, name: SchemaName, isAllowed: boolean): Promise<number> {
  const found = await readVersion(client, name);
  if (found === migrations.length) return 0;
  if (found > migrations.length) throw wrongVersion(name, found, 'update hubline in this process');
  if (!isAllowed) throw wrongVersion(name, found, 'run `npx hubline migrate`');
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name.channel]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${name.quoted}`);
    await client.query(name.sql(tableSql));
    const from = await readVersion(client, name);
    for (const [index, text] of migrations.entries()) {
      if (index < from) continue;
      await client.query(name.sql(text));
      await client.query(name.sql('INSERT INTO hub.migrations VALUES ($1)'), [index + 1]);
    }
    await client.query('COMMIT');
    return Math.max(0, migrations.length - from);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Returns the version of the tables; 0 if there are none. */
async function readVersion(client: PostgresClient, { quoted, sql }: SchemaName): Promise<number> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [`${quoted}.migrations`]);
  if (rows[0]?.['exists'] !== true) return 0;
  const { rows: versions } = await client.query(sql('SELECT max(version) AS version FROM hub.migrations'));
  return Number(versions[0]?.['version'] ?? 0);
}

function wrongVersion({ quoted }: SchemaName, found: number, advice: string): UnexpectedDataError {
  return new UnexpectedDataError(
    `the schema ${quoted} has version ${found} of the tables, and this process needs version ${migrations.length}: ${advice}`,
  );
}
