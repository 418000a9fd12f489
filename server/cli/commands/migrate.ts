import { Database } from '../../transports/postgres/connection/database.js';
import { migrationScript } from '../../transports/postgres/connection/migrations.js';
import { resolvePostgresOptions } from '../../transports/postgres/postgres-options.js';
import type { CommandContext } from '../command-context.js';

/** Options of `hubline migrate`. */
export interface MigrateOptions {
  readonly postgres: string;
  readonly schema: string;
  readonly print?: boolean;
  readonly json?: boolean;
}

/** Creates or updates the tables of Postgres, or prints the statements that create them in an empty schema. */
export async function migrate(
  { terminal }: Pick<CommandContext, 'terminal'>,
  { postgres, schema, print = false, json = false }: MigrateOptions,
): Promise<void> {
  const settings = resolvePostgresOptions({ connectionString: postgres, schema });
  if (print) {
    for (const line of migrationScript(schema).trimEnd().split('\n')) terminal.line(line);
    return;
  }
  const migrations = await new Database(settings).migrate();
  if (json) terminal.json({ schema, migrations });
  else if (migrations === 0) terminal.line(`The tables of the schema ${schema} are those of this version.`);
  else terminal.line(`Ran ${migrations} migration${migrations === 1 ? '' : 's'} in the schema ${schema}.`);
}
