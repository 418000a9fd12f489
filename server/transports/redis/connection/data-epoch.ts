import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { TransportUnavailableError, UnexpectedDataError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import { repeatDelayMs, withoutArguments } from '../redis-errors.js';
import type { CommandClient } from './command-client.js';
import { dataLayout } from './keys.js';
import { readString } from './reply.js';
import { scripts } from './script.js';

/**
 * Time between two losses of Redis's data. An event that is accepted after a loss, before its services have subscribed
 * again, would count as completed without a handler.
 */
export class DataEpoch {
  readonly #commands: CommandClient;
  readonly #logger: Logger;
  /** Epoch that this process knows; `''` before it has registered. */
  #id = '';
  #rejoin: () => Promise<void> = () => Promise.resolve();
  #recovery: Promise<void> | undefined;

  constructor(commands: CommandClient, logger: Logger) {
    this.#commands = commands;
    this.#logger = logger;
  }

  /** @param rejoin registers this process again */
  async open(rejoin: () => Promise<void>): Promise<void> {
    this.#rejoin = rejoin;
    await this.#read();
    this.#commands.onReconnected(() => {
      this.recover().catch((error: unknown) => {
        this.#logger.debug({ err: withoutArguments(error) }, 'could not register again; the next heartbeat does');
      });
    });
  }

  /** Resolves when no registration is on its way that would outlive the process's leaving. */
  async close(): Promise<void> {
    this.#commands.onReconnected(() => {});
    this.#rejoin = () => Promise.resolve();
    await this.#recovery?.catch(() => {});
    this.#id = '';
  }

  /** Registers this process again, then learns the epoch: when that is known, the subscriptions are stored. */
  recover(): Promise<void> {
    this.#recovery ??= this.#recover().finally(() => {
      this.#recovery = undefined;
    });
    return this.#recovery;
  }

  /**
   * Runs a script that accepts events. Waits until services have subscribed again if Redis has lost its data.
   *
   * @param accept runs the script, which returns the result of `dataLoss` if there is one
   * @throws {TransportUnavailableError} if that takes longer than `timeoutMs`
   */
  async whileKnown(timeoutMs: number, accept: (epoch: string) => Promise<unknown>): Promise<unknown> {
    const dueAt = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const reply = await accept(this.#id);
      if (reply !== 'lost' && reply !== 'recovering') return reply;
      if (performance.now() > dueAt) {
        const cause = new Error('it has lost its data, and services subscribe again');
        throw new TransportUnavailableError(`Redis did not answer within ${timeoutMs} ms`, cause);
      }
      if (reply === 'lost') await this.recover();
      else await delay(repeatDelayMs(attempt));
    }
  }

  async #recover(): Promise<void> {
    await this.#rejoin();
    await this.#read();
  }

  async #read(): Promise<void> {
    this.#id = readString(await this.#commands.runScript(scripts.openEpoch, [this.#id, randomUUID()]));
  }
}

/** Returns the error for data in another layout. */
export function otherLayoutError(): UnexpectedDataError {
  return new UnexpectedDataError(
    `the prefix has data in another layout than ${dataLayout}: docs/upgrading.md describes the upgrade from earlier builds`,
  );
}
