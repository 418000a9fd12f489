/**
 * Postgres transport: any number of processes and machines share the events of their hubs.
 *
 * @module hubline/postgres
 */

export type { Codec } from '../codec.js';
export type { SqlTransaction } from '../delivery.js';
export { UnexpectedDataError } from '../errors.js';
export type { RetireOptions, RetireResult } from '../services.js';
export type { Transport } from '../transport.js';
export type {
  PostgresClient,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
  PostgresTransportOptions,
} from './postgres-options.js';
export type { PostgresTransport } from './postgres-transport.js';
export { postgresTransport } from './postgres-transport.js';
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  PrismaTransaction,
} from './transactions/adapters.js';
export { fromDrizzle, fromKnex, fromKysely, fromPrisma } from './transactions/adapters.js';
export { TransactionEndedError } from './transactions/handler-transaction.js';
