import { InvalidOptionError } from '../../../errors.js';
import type { Clock, Timer } from '../../clock.js';
import type { Envelope, SqlTransaction } from '../../delivery.js';
import { MissingTransactionError, OtherDatabaseError, TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import { type Database, sqlStateOf } from '../connection/database.js';
import { readFields, readNumber, readText } from '../connection/fields.js';
import type { Listener, NotificationListener } from '../connection/listener.js';
import { eventItems } from '../reads/stored-events.js';

// Where notifications arrive, a poll finds events alone that a process emitted without them.
const pollsPerLook = 5;
// Every row is visited again, whatever ids its transaction has.
const fullLookMs = 60_000;
// An entry of an index has at most 2,704 bytes.
const maxIndexedBytes = 2_600;
const noActiveTransaction = '25P01';
// No such table, schema or column.
const missing = new Set(['42P01', '3F000', '42703']);

/** Parts that the inbox shares with the other parts of its connection. */
export interface InboxParts {
  readonly database: Database;
  readonly listener: Listener;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Events of the transactions of callers: stores them, and accepts those that have committed. */
export class Inbox implements NotificationListener {
  readonly #parts: InboxParts;
  #receiving: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #from = '0';
  #fullLookAt = 0;
  #poll: Timer | undefined;
  #removeListener: (() => Promise<void>) | undefined;
  #isClosed = false;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Accepts what is committed, from now on whenever a transaction commits. */
  async start(): Promise<void> {
    const { listener, logger } = this.#parts;
    this.#removeListener = await listener.add(this, logger);
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#poll?.cancel();
    await this.#receiving;
    await this.#removeListener?.();
  }

  /**
   * Stores events in a transaction of the caller.
   *
   * @throws {InvalidOptionError | MissingTransactionError | OtherDatabaseError | TransportUnavailableError}
   */
  async publishWithin(tx: SqlTransaction, envelopes: readonly Envelope[], service: string): Promise<void> {
    const { database } = this.#parts;
    for (const envelope of envelopes) checkIndexed(envelope);
    const events = eventItems(envelopes);
    const identity = await database.identity();
    try {
      // Outside a transaction it is an error. Within the savepoint nothing is written: it would cost a subtransaction.
      await tx.query('SAVEPOINT hubline_emit');
      await tx.query('RELEASE SAVEPOINT hubline_emit');
    } catch (error) {
      if (sqlStateOf(error) === noActiveTransaction) throw new MissingTransactionError(error);
      throw unavailable(error);
    }
    const { schema, notify } = database.settings;
    let inserted: number;
    try {
      inserted = (await tx.query(database.sql(notify ? notifying : insertion), [identity, service, events])).rows
        .length;
    } catch (error) {
      if (missing.has(sqlStateOf(error))) throw new OtherDatabaseError(schema, error);
      throw unavailable(error);
    }
    if (inserted === 0) throw new OtherDatabaseError(schema);
  }

  /** Accepts what is committed. Resolves after a look that began after the call. */
  receive(): Promise<void> {
    if (this.#receiving === undefined) {
      this.#receiving = this.#receiveAll().finally(() => {
        this.#receiving = undefined;
      });
      return this.#receiving;
    }
    this.#next ??= this.#receiving.then(() => {
      this.#next = undefined;
      return this.receive();
    });
    return this.#next;
  }

  onInbox(): void {
    this.#look();
  }

  onMissed(isOwn: boolean): void {
    if (isOwn) return;
    // Perhaps to a replica that was promoted.
    this.#fullLookAt = 0;
    this.#look();
  }

  #look(): void {
    if (this.#isClosed) return;
    this.#poll?.cancel();
    void this.receive().finally(() => this.#pollLater());
  }

  #pollLater(): void {
    const { clock, database } = this.#parts;
    if (this.#isClosed) return;
    this.#poll?.cancel();
    const { pollIntervalMs, notify } = database.settings;
    this.#poll = clock.after(pollIntervalMs * (notify ? pollsPerLook : 1), () => this.#look());
  }

  async #receiveAll(): Promise<void> {
    const { clock, database, logger } = this.#parts;
    try {
      if (clock.monotonic() >= this.#fullLookAt) {
        this.#from = '0';
        this.#fullLookAt = clock.monotonic() + fullLookMs;
      }
      for (let isMore = true; isMore; ) {
        const reply = readFields(await database.call('receive', [this.#from]));
        this.#from = readText(reply['from']);
        if (readNumber(reply['taken']) > 0) database.onWrite();
        const refused = readNumber(reply['refused']);
        if (refused > 0) {
          logger.error(
            { events: refused },
            'events of a transaction cannot be accepted; the table inbox has the errors',
          );
        }
        isMore = reply['isMore'] === true;
      }
    } catch (error) {
      logger.warn({ err: error }, 'could not accept the events of transactions; the transport repeats it');
    }
  }
}

const insertion = `INSERT INTO hub.inbox (sender, events) SELECT $2::text, $3::text FROM hub.identity WHERE id = $1::text
  RETURNING number::text`;
// A result of the type void is refused by Prisma.
const notifying = `WITH added AS (${insertion}) SELECT number, pg_notify('hub_channel', 'i')::text FROM added`;

/** @throws {InvalidOptionError} */
function checkIndexed({ type, id, requestId, key, dedupe }: Envelope): void {
  for (const [name, text = ''] of Object.entries({ id, requestId, key, dedupeId: dedupe?.id })) {
    if (Buffer.byteLength(type) + Buffer.byteLength(text) > maxIndexedBytes) {
      throw new InvalidOptionError(name, `at most ${maxIndexedBytes} bytes together with the name of its type`, text);
    }
  }
}

function unavailable(error: unknown): TransportUnavailableError {
  return new TransportUnavailableError(
    'Postgres did not carry out a statement of tx',
    error,
    'roll the transaction back',
  );
}
