import type { Redis } from 'ioredis';
import type { Logger } from '../../transport.js';
import { translateReply } from '../connection/rejections.js';
import { withoutArguments } from '../redis-errors.js';
import { redisKey } from '../scripts/keys.js';

/** Announcements of new entries and waits of the runs that this process watches. */
export class RunChanges {
  readonly #connection: Redis;
  readonly #prefix: string;
  readonly #logger: Logger;
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(connection: Redis, prefix: string, logger: Logger) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#logger = logger;
    connection.on('message', (channel: string) => this.#notify(channel));
    connection.on('ready', () => void this.#resubscribe());
  }

  /** Calls `onChange` after each announcement. @throws {RedisPermissionError} if the user may not subscribe to it */
  async watch(serviceType: string, jobId: string, onChange: () => void): Promise<() => void> {
    const channel = redisKey(this.#prefix, 'run-changes', serviceType, jobId);
    const watchers = this.#watchers.get(channel) ?? new Set();
    this.#watchers.set(channel, watchers);
    // Wrapped, so that one function can watch twice.
    const watcher = (): void => onChange();
    watchers.add(watcher);
    const end = (): void => {
      watchers.delete(watcher);
      if (watchers.size > 0 || this.#watchers.get(channel) !== watchers) return;
      this.#watchers.delete(channel);
      // A connection that is lost has no subscriptions.
      this.#connection.unsubscribe(channel).catch(() => {});
    };
    try {
      await this.#connection.subscribe(channel);
    } catch (error) {
      end();
      throw translateReply(error);
    }
    return end;
  }

  #notify(channel: string): void {
    for (const watcher of this.#watchers.get(channel) ?? []) watcher();
  }

  async #resubscribe(): Promise<void> {
    const channels = [...this.#watchers.keys()];
    if (channels.length === 0) return;
    try {
      await this.#connection.subscribe(...channels);
    } catch (error) {
      this.#logger.warn({ err: withoutArguments(error) }, 'could not subscribe to the changes of runs');
    }
    // Announcements are lost while the connection is.
    for (const channel of channels) this.#notify(channel);
  }
}
