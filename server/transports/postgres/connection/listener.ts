import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Timer } from '../../clock.js';
import type { Logger } from '../../transport.js';
import type { PostgresClient } from '../postgres-options.js';
import type { Database } from './database.js';

const retryDelayMs = 1_000;
// Time in which a notification arrives, if any does. A pooler may be configured anew.
const probeLimitMs = 5_000;
const probeAgainMs = 60_000;
// Calls of about the same time share a look.
const ownLookMs = 10;

/** Receives the notifications of a schema. */
export interface NotificationListener {
  /** Transactions of callers have committed events. */
  onInbox?(): void;
  /** Queues have work. @param origin connection that accepted it and knows of it */
  onWork?(queues: readonly number[], origin: string | undefined): void;
  /** A run has a new entry or wait. */
  onChange?(seq: number): void;
  /** An event has ended. @param reason JSON of an error for a handler that runs */
  onEnd?(seq: number, reason: string | undefined): void;
  /** A log has new entries. @param log its number */
  onAppend?(log: string): void;
  /** A stored schedule is due earlier than before. */
  onSchedule?(): void;
  /** Notifications may have been missed. @param isOwn only those that calls of this process would have caused */
  onMissed(isOwn: boolean): void;
}

interface Session {
  end(): void;
}

/**
 * Session that listens for the notifications of a schema, for all connections of a transport. While none arrive, as behind
 * a PgBouncer in transaction mode, listeners look for themselves: at intervals, and after calls of this process.
 */
export class Listener {
  readonly #database: Database;
  readonly #listeners = new Set<NotificationListener>();
  #session: Promise<Session | undefined> | undefined;
  /** First attempt to listen. */
  #opening: Promise<Session | undefined> | undefined;
  #isListening = false;
  /** Notifications do not arrive, although the server accepts LISTEN. */
  #isDeaf = false;
  #reconnecting: AbortController | undefined;
  #poll: NodeJS.Timeout | undefined;
  #ownLook: Timer | undefined;

  constructor(database: Database) {
    this.#database = database;
    database.onWrite = () => this.#lookSoon();
  }

  /** Notifications arrive. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /**
   * Adds a listener. Resolves when it learns of all that is committed from now on, from notifications or at a look, with a
   * function that removes it.
   */
  async add(listener: NotificationListener, logger: Logger): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    this.#poll ??= setInterval(() => this.#look(false), this.#database.settings.pollIntervalMs).unref();
    this.#session ??= this.#opening = this.#open(logger);
    await this.#opening;
    return async () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#poll);
      this.#poll = undefined;
      this.#ownLook?.cancel();
      this.#ownLook = undefined;
      this.#reconnecting?.abort();
      const session = await this.#session;
      if (this.#listeners.size > 0) return;
      this.#session = undefined;
      session?.end();
    };
  }

  #look(isOwn: boolean): void {
    if (this.#isListening) return;
    for (const listener of [...this.#listeners]) listener.onMissed(isOwn);
  }

  #lookSoon(): void {
    if (this.#isListening || this.#listeners.size === 0) return;
    this.#ownLook ??= systemClock.after(ownLookMs, () => {
      this.#ownLook = undefined;
      this.#look(true);
    });
  }

  /** Connects, and goes on trying in the background if the server does not let it listen yet. */
  async #open(logger: Logger): Promise<Session | undefined> {
    const session = await this.#connect(logger);
    if (session === undefined) this.#session = this.#reconnect(logger);
    return session;
  }

  async #connect(logger: Logger): Promise<Session | undefined> {
    let destroy = (): void => {};
    try {
      const client = await this.#database.session();
      const probe = randomUUID();
      let isOver = false;
      let hasListened = false;
      let probing: Timer | undefined;
      const dispatch = ({ payload = '' }): void => {
        if (payload === `p${probe}`) {
          probing?.cancel();
          this.#isListening = true;
          this.#isDeaf = false;
        } else this.#dispatch(payload);
      };
      const leave = (): void => {
        isOver = true;
        this.#isListening = false;
        probing?.cancel();
        client.off('error', lose).off('end', lose).off('notification', dispatch);
      };
      destroy = () => {
        if (isOver) return;
        leave();
        client.release(true);
      };
      const lose = (error?: Error): void => {
        destroy();
        // The caller goes on trying: a second one would leave its session open.
        if (!hasListened) return;
        logger.warn(
          { err: error },
          'the connection for notifications was lost; the transport connects again and polls',
        );
        this.#session = this.#reconnect(logger);
      };
      // The session serves the pool on.
      const end = (): void => {
        if (isOver) return;
        leave();
        void client.query(`UNLISTEN "${this.#database.channel}"`).then(
          () => client.release(),
          () => client.release(true),
        );
      };
      client.on('error', lose).on('end', lose).on('notification', dispatch);
      if (await this.#isPassedOn(client)) {
        leave();
        client.release();
        this.#noteDeaf(logger);
        return undefined;
      }
      await client.query(`LISTEN "${this.#database.channel}"`);
      hasListened = true;
      // Behind a pooler, another client may use the session of the server that listens.
      probing = systemClock.after(probeLimitMs, () => {
        end();
        this.#noteDeaf(logger);
        this.#session = this.#reconnect(logger);
      });
      probing.unref?.();
      this.#database.query("SELECT pg_notify('hub_channel', $1)", [`p${probe}`]).catch(() => {});
      return { end };
    } catch (error) {
      destroy();
      if (this.#reconnecting === undefined) {
        logger.warn({ err: error }, 'cannot listen for notifications; the transport polls, and tries again');
      }
      return undefined;
    }
  }

  /** Looks if the session of the server serves other clients between the transactions of this one, and would listen for them. */
  async #isPassedOn(client: PostgresClient): Promise<boolean> {
    const text = 'SELECT pg_backend_pid() AS pid';
    const { rows: own } = await client.query(text);
    const others = await this.#database.query(text, []);
    return own[0]?.['pid'] === others[0]?.['pid'];
  }

  #noteDeaf(logger: Logger): void {
    if (!this.#isDeaf) {
      logger.warn(
        { pollIntervalMs: this.#database.settings.pollIntervalMs },
        'notifications do not arrive, as behind PgBouncer in transaction mode; the transport polls',
      );
    }
    this.#isDeaf = true;
  }

  async #reconnect(logger: Logger): Promise<Session | undefined> {
    const reconnecting = new AbortController();
    this.#reconnecting = reconnecting;
    try {
      while (this.#listeners.size > 0) {
        const [delayMs, ref] = this.#isDeaf ? [probeAgainMs, false] : [retryDelayMs, true];
        await delay(delayMs, undefined, { signal: reconnecting.signal, ref }).catch(() => {});
        if (reconnecting.signal.aborted) break;
        const session = await this.#connect(logger);
        if (session === undefined) continue;
        for (const listener of this.#listeners) listener.onMissed(false);
        return session;
      }
      return undefined;
    } finally {
      if (this.#reconnecting === reconnecting) this.#reconnecting = undefined;
    }
  }

  #dispatch(payload: string): void {
    const [subject = '', text] = split(payload.slice(1));
    for (const listener of [...this.#listeners]) {
      if (payload === 'i') listener.onInbox?.();
      else if (payload === 's') listener.onSchedule?.();
      else if (payload.startsWith('w')) listener.onWork?.(subject.split(',').map(Number), text);
      else if (payload.startsWith('l')) listener.onAppend?.(subject);
      else if (payload.startsWith('c')) listener.onChange?.(Number(subject));
      else if (payload.startsWith('x')) listener.onEnd?.(Number(subject), text);
    }
  }
}

function split(text: string): readonly [string, string | undefined] {
  const space = text.indexOf(' ');
  return space === -1 ? [text, undefined] : [text.slice(0, space), text.slice(space + 1)];
}
