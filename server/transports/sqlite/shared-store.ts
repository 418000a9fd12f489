import type { Logger } from '../logger.js';
import type { SqliteSettings } from './sqlite-options.js';
import { type OpenStore, openStore } from './sqlite-store.js';

/** Open file of a transport, which all its connections share. The first user opens it, and the last one closes it. */
export class SharedStore {
  readonly #settings: SqliteSettings;
  #opened: Promise<OpenStore> | undefined;
  #store: OpenStore | undefined;
  #users = 0;
  #closing: Promise<void> = Promise.resolve();

  constructor(settings: SqliteSettings) {
    this.#settings = settings;
  }

  /** Returns the open file; each user calls `release` at the end. */
  async acquire(logger: Logger): Promise<OpenStore> {
    this.#users += 1;
    this.#opened ??= this.#closing.then(() => openStore(this.#settings, logger));
    const opened = this.#opened;
    try {
      const store = await opened;
      this.#store = store;
      return store;
    } catch (error) {
      // The next user tries to open it again.
      if (this.#opened === opened) this.#opened = undefined;
      this.#users -= 1;
      throw error;
    }
  }

  /** Resolves when the file is closed if this was the last user. */
  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const store = this.#store;
    this.#opened = undefined;
    this.#store = undefined;
    if (store === undefined) return;
    const closing = store.close();
    this.#closing = closing.catch(() => {});
    await closing;
  }
}
