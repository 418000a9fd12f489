import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../transport.js';
import type { Database } from './database.js';

const retryDelayMs = 1_000;

/** Receives the notifications of a schema. */
export interface NotificationListener {
  /** Transactions of callers have committed events. */
  onInbox?(): void;
  /** Queues have work. @param origin connection that accepted it and knows of it */
  onWork(queues: readonly number[], origin: string | undefined): void;
  /** A run has a new entry or wait. */
  onChange(seq: number): void;
  /** An event has ended. @param reason JSON of an error for a handler that runs */
  onEnd(seq: number, reason: string | undefined): void;
  /** A run dropped events. @param report JSON for the connection with this id */
  onDropped(member: number, report: string): void;
  /** Notifications may have been lost. */
  onReconnected(): void;
}

interface Session {
  end(): void;
}

/** Session that listens for the notifications of a schema, for all connections of a transport. */
export class Listener {
  readonly #database: Database;
  readonly #listeners = new Set<NotificationListener>();
  #session: Promise<Session | undefined> | undefined;
  #isListening = false;
  #reconnecting: AbortController | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Notifications arrive. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Adds a listener. Resolves when it misses nothing that is committed from now on, with a function that removes it. */
  async add(listener: NotificationListener, logger: Logger): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    this.#session ??= this.#open(logger);
    await this.#session;
    return async () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#reconnecting?.abort();
      const session = await this.#session;
      if (this.#listeners.size > 0) return;
      this.#session = undefined;
      session?.end();
    };
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
      let isOver = false;
      let hasListened = false;
      const dispatch = ({ payload = '' }): void => this.#dispatch(payload);
      const leave = (): void => {
        isOver = true;
        this.#isListening = false;
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
      client.on('error', lose).on('end', lose).on('notification', dispatch);
      await client.query(`LISTEN "${this.#database.channel}"`);
      hasListened = true;
      this.#isListening = true;
      // The session serves the pool on.
      const end = (): void => {
        if (isOver) return;
        leave();
        void client.query(`UNLISTEN "${this.#database.channel}"`).then(
          () => client.release(),
          () => client.release(true),
        );
      };
      return { end };
    } catch (error) {
      destroy();
      if (this.#reconnecting === undefined) {
        logger.warn({ err: error }, 'cannot listen for notifications; the transport polls, and tries again');
      }
      return undefined;
    }
  }

  async #reconnect(logger: Logger): Promise<Session | undefined> {
    const reconnecting = new AbortController();
    this.#reconnecting = reconnecting;
    try {
      while (this.#listeners.size > 0) {
        await delay(retryDelayMs, undefined, { signal: reconnecting.signal }).catch(() => {});
        if (reconnecting.signal.aborted) break;
        const session = await this.#connect(logger);
        if (session === undefined) continue;
        for (const listener of this.#listeners) listener.onReconnected();
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
      else if (payload.startsWith('w')) listener.onWork(subject.split(',').map(Number), text);
      else if (payload.startsWith('c')) listener.onChange(Number(subject));
      else if (payload.startsWith('x')) listener.onEnd(Number(subject), text);
      else if (payload.startsWith('d')) listener.onDropped(Number(subject), text ?? '');
    }
  }
}

function split(text: string): readonly [string, string | undefined] {
  const space = text.indexOf(' ');
  return space === -1 ? [text, undefined] : [text.slice(0, space), text.slice(space + 1)];
}
