import { randomUUID } from 'node:crypto';
import { type BoundedLog, CheckedLog } from '../bounded-log.js';
import { type Clock, systemClock } from '../clock.js';
import type { Envelope, SqlTransaction } from '../delivery.js';
import { BackpressureError } from '../errors.js';
import { CheckedKeyValueStore, type KeyValueStore } from '../key-values.js';
import { TickBatch } from '../tick-batch.js';
import type {
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  Logger,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleStore,
  TransportManager,
} from '../transport.js';
import type { Database } from './connection/database.js';
import { type Fields, itemOf, readFields, readList, readNumber, readText } from './connection/fields.js';
import type { Listener } from './connection/listener.js';
import { Consumer } from './consuming/consumer.js';
import { PostgresRuns } from './consuming/postgres-runs.js';
import { PostgresKeyValueStore } from './postgres-key-values.js';
import { PostgresLog } from './postgres-log.js';
import { PostgresSchedules } from './postgres-schedules.js';
import { postgresCounts } from './reads/counts.js';
import { postgresDeadLetters, postgresFleet, postgresLookup } from './reads/lookups.js';
import { eventItems } from './reads/stored-events.js';
import { Inbox } from './transactions/inbox.js';

const maxEmits = 500;
const maxEmitBytes = 4_194_304;

/** Connection of a service to Postgres. */
export class PostgresManager implements TransportManager {
  readonly name = 'postgres';
  readonly service: string;
  readonly clock: Clock = systemClock;
  readonly counts: CountReader;
  readonly lookup: EventLookup;
  readonly deadLetters: DeadLetterStore;
  readonly runs: RunStore;
  readonly fleet: FleetReader;
  readonly schedules: ScheduleStore;
  readonly kv: KeyValueStore;
  readonly log: BoundedLog;
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #logger: Logger;
  readonly #runs: PostgresRuns;
  readonly #log: PostgresLog;
  readonly #schedules: PostgresSchedules;
  readonly #inbox: Inbox;
  readonly #emits: TickBatch<Emit, readonly Receipt[] | Error>;
  /** Names this connection in notifications of work that it learns from replies. */
  readonly #origin = randomUUID();
  #consumer: Consumer | undefined;
  #onDrained: ConsumeOptions['onDrained'];

  constructor(service: string, database: Database, listener: Listener, logger: Logger) {
    this.service = service;
    this.#database = database;
    this.#listener = listener;
    this.#logger = logger;
    this.#inbox = new Inbox({ database, listener, clock: this.clock, logger });
    this.#runs = new PostgresRuns(database, listener, service, logger, () => this.#inbox.receive());
    this.counts = postgresCounts(database);
    this.lookup = postgresLookup(database);
    this.deadLetters = postgresDeadLetters(database, service);
    this.runs = this.#runs;
    this.fleet = postgresFleet(database);
    this.#schedules = new PostgresSchedules({
      ...{ database, listener, service, logger },
      member: () => this.#consumer?.member,
    });
    this.schedules = this.#schedules;
    this.kv = new CheckedKeyValueStore(new PostgresKeyValueStore(database));
    this.#log = new PostgresLog(database, listener, logger);
    this.log = new CheckedLog(this.#log);
    this.#emits = new TickBatch(
      {
        maxSize: maxEmits,
        maxWeight: maxEmitBytes,
        weigh: ({ events }) => events.length,
      },
      (emits) => this.#acceptAll(emits),
    );
  }

  async start(options: ConsumeOptions): Promise<void> {
    const { service, clock } = this;
    const parts = {
      ...{ service, clock, origin: this.#origin, runs: this.#runs },
      ...{ database: this.#database, listener: this.#listener, logger: this.#logger },
    };
    const consumer = new Consumer(parts, options);
    this.#onDrained = options.onDrained;
    this.#consumer = consumer;
    try {
      await consumer.start();
      await this.#inbox.start();
    } catch (error) {
      this.#consumer = undefined;
      throw error;
    }
  }

  async pause({ revision, types }: PausedTypes): Promise<void> {
    await this.#database.call('pause', [this.service, revision, JSON.stringify(types)]);
  }

  async publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    if (envelopes.length === 0) return [];
    const reply = await this.#emits.add({ envelopes, events: eventItems(envelopes) });
    if (reply instanceof Error) throw reply;
    return reply;
  }

  readonly publishWithin = (tx: SqlTransaction, envelopes: readonly Envelope[]): Promise<void> =>
    this.#inbox.publishWithin(tx, envelopes, this.service);

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const result = (await this.#consumer?.close(drainMs)) ?? { released: 0, overdue: 0 };
    this.#consumer = undefined;
    await this.#onDrained?.();
    await this.#inbox.close();
    await this.#runs.close();
    await this.#schedules.close();
    await this.#log.close();
    return result;
  }

  /** Accepts the events of several callers, of which some may fit into what is left of `maxPending`. */
  async #acceptAll(emits: readonly Emit[]): Promise<readonly (readonly Receipt[] | Error)[]> {
    try {
      return await this.#accept(emits);
    } catch (error) {
      if (emits.length === 1 || !(error instanceof BackpressureError)) throw error;
      const replies: (readonly Receipt[] | Error)[] = [];
      for (const emit of emits) {
        const accepted = await this.#accept([emit]).catch((refusal: unknown) => [errorOfCause(refusal)]);
        replies.push(...accepted);
      }
      return replies;
    }
  }

  async #accept(emits: readonly Emit[]): Promise<readonly (readonly Receipt[])[]> {
    const events = `[${emits.map((emit) => emit.events).join()}]`;
    const all = emits.flatMap(({ envelopes }) => envelopes);
    const receipts: Receipt[] = all.map(({ id }) => ({ id, deduplicated: false }));
    const accept = async (member: number, starts: readonly number[]): Promise<Fields> => {
      const { maxPending = null } = this.#database.settings;
      const args = [events, this.service, this.#origin, maxPending, member, starts];
      return readFields(await this.#database.call('accept', args));
    };
    const { work, others } = await (this.#consumer?.accept(all, accept) ?? accept(0, []));
    this.#consumer?.onWork(readList(work).map(readNumber));
    for (const other of readList(others)) receipts[readNumber(itemOf(other, 0))] = readReceipt(itemOf(other, 1));
    let from = 0;
    return emits.map(({ envelopes }) => {
      from += envelopes.length;
      return receipts.slice(from - envelopes.length, from);
    });
  }
}

function errorOfCause(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Events of one call of `publish`. */
interface Emit {
  readonly envelopes: readonly Envelope[];
  /** The same as items of a JSON array. */
  readonly events: string;
}

function readReceipt(value: unknown): Receipt {
  const { id, deduplicated, unsubscribed } = readFields(value);
  const receipt = { id: readText(id), deduplicated: deduplicated === true };
  return unsubscribed === true ? { ...receipt, unsubscribed } : receipt;
}
