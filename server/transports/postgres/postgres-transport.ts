import { errorInfo } from '../../errors.js';
import { connectCoded } from '../coded-transport.js';
import { workflowType } from '../delivery.js';
import { RetiredError } from '../errors.js';
import {
  checkRetireArguments,
  type Retirement,
  type RetireOptions,
  type RetireResult,
  retireResult,
} from '../services.js';
import type { Transport } from '../transport.js';
import { Database } from './connection/database.js';
import { readFields, readList, readNumber, readText, unexpected } from './connection/fields.js';
import { Listener } from './connection/listener.js';
import { PostgresManager } from './postgres-manager.js';
import { type PostgresTransportOptions, resolvePostgresOptions } from './postgres-options.js';

/** Transport that `postgresTransport` returns. */
export interface PostgresTransport extends Transport {
  /**
   * Ends subscriptions of a service that will not return, all or some: from now on no events are kept for it. Rejects, and
   * changes nothing, if a process handles one of the types, or, without `discard`, if events are pending or dead letters
   * retained. Counts, the last failures and the last runs stay. A hub of the service that starts later subscribes again.
   *
   * @throws {ServiceRunningError | PendingEventsError | NotSubscribedError | TransportUnavailableError | InvalidOptionError}
   */
  retire(service: string, options?: RetireOptions): Promise<RetireResult>;
}

/**
 * Creates a transport that stores events in tables of Postgres. Any number of processes share them, and no event is lost
 * with a process. Needs the package `pg`, and Postgres 15 or later.
 *
 * @example
 * ```ts
 * const hub = createHub({ service: 'shop', transport: postgresTransport({ pool: new Pool() }) });
 * ```
 * @throws {InvalidOptionError}
 */
export function postgresTransport(options: PostgresTransportOptions): PostgresTransport {
  const settings = resolvePostgresOptions(options);
  const database = new Database(settings);
  const listener = new Listener(database);
  return {
    connect: ({ service, logger }) =>
      connectCoded(new PostgresManager(service, database, listener, logger), settings.codec),
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const { only, discard = false } = retireOptions;
      const types = only?.flatMap((name) => [name, workflowType(name)]) ?? null;
      const error = JSON.stringify(errorInfo(new RetiredError()));
      const reply = await database.call('retire', [service, types, discard, error, database.limits]);
      return retireResult(readRetirement(reply), service, retireOptions);
    },
  };
}

function readRetirement(reply: unknown): Retirement {
  const { status, services, type, events, deadLetters } = readFields(reply);
  if (status === 'none') return { status, services: readList(services).map(readText) };
  if (status === 'running') return { status, type: readText(type) };
  if (status !== 'pending' && status !== 'done') throw unexpected('the result of a retirement', status);
  return { status, events: readNumber(events), deadLetters: readNumber(deadLetters) };
}
