import type { SqlTransaction } from '../../delivery.js';

/** The part of a transaction of Drizzle that `fromDrizzle` uses. */
export interface DrizzleTransaction {
  /** Runs a statement. */
  execute(query: never): PromiseLike<unknown>;
}

/** The part of a transaction of Kysely that `fromKysely` uses. */
export interface KyselyTransaction {
  /** Runs a compiled query. */
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The part of a transaction of Knex that `fromKnex` uses. */
export interface KnexTransaction {
  /** Runs SQL. */
  raw(sql: string, bindings: never): PromiseLike<unknown>;
}

/** The part of an interactive transaction of Prisma that `fromPrisma` uses. */
export interface PrismaTransaction {
  /** Runs SQL that returns rows. */
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
}

/**
 * Adapts a transaction of Drizzle, for `tx` of `hub.emit`.
 *
 * @example
 * ```ts
 * await db.transaction(async (tx) => {
 *   await tx.insert(orders).values(order);
 *   await hub.emit(orderPlaced, order, { tx: fromDrizzle(tx) });
 * });
 * ```
 */
export function fromDrizzle(tx: DrizzleTransaction): SqlTransaction {
  return {
    async query(text, values = []) {
      // What `execute` calls of the template tag `sql`, which is of a package that the caller has.
      const statement = { getSQL: () => ({ toQuery: () => ({ sql: text, params: values }) }) };
      return { rows: rowsOf(await tx.execute(statement as never)) };
    },
  };
}

/** Adapts a transaction of Kysely, for `tx` of `hub.emit`. */
export function fromKysely(trx: KyselyTransaction): SqlTransaction {
  return {
    query(text, parameters = []) {
      // A `CompiledQuery`, which is data.
      const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
      const compiled = { sql: text, parameters, query, queryId: { queryId: crypto.randomUUID() } };
      return trx.executeQuery(compiled as never);
    },
  };
}

/** Adapts a transaction of Knex, for `tx` of `hub.emit`. */
export function fromKnex(trx: KnexTransaction): SqlTransaction {
  return {
    async query(text, values = []) {
      const bindings: unknown[] = [];
      // Its placeholders have no numbers.
      const sql = text.replaceAll('?', '\\?').replaceAll(/\$(\d+)/g, (_, number: string) => {
        bindings.push(values[Number(number) - 1]);
        return '?';
      });
      // Its type of a binding has no common one with those of the other clients.
      return { rows: rowsOf(await trx.raw(sql, bindings as never)) };
    },
  };
}

/** Adapts an interactive transaction of Prisma, the argument of the callback of `$transaction`, for `tx` of `hub.emit`. */
export function fromPrisma(tx: PrismaTransaction): SqlTransaction {
  return {
    async query(text, values = []) {
      return { rows: rowsOf(await tx.$queryRawUnsafe(text, ...values)) };
    },
  };
}

/** Some drivers return the rows, others an object that has them. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows: unknown = Array.isArray(result) ? result : Object(result).rows;
  return Array.isArray(rows) ? rows : [];
}
