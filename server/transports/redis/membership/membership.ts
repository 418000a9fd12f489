import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';
import type { Subscription } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import {
  beatScript,
  describeScript,
  heldLanesScript,
  joinScript,
  leaveScript,
  unparkScript,
} from './membership-scripts.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { sharedLane, unitOf } from '../names.js';
import { readArray, readNumber, readString } from '../scripts/reply.js';
import { routeArguments } from './subscription-table.js';

const beatEveryMs = 5_000;
// Three beats may be missed.
const livesForMs = 16_000;

export interface MembershipParts {
  readonly service: string;
  readonly prefix: string;
  readonly commands: CommandClient;
  readonly logger: Logger;
}

/** A process among those that use one Redis: what it handles, and that it lives. */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #subscriptions: readonly Subscription[];
  readonly #describe: () => string;
  readonly #id = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  /** @param describe what others may know of this process now */
  constructor(parts: MembershipParts, subscriptions: readonly Subscription[], describe: () => string) {
    this.#parts = parts;
    this.#subscriptions = subscriptions;
    this.#describe = describe;
  }

  /**
   * From now on events of the subscriptions are kept for the service, whether it runs or not.
   *
   * @returns the lanes of the service that hold events, some perhaps of subscriptions that it no longer has
   */
  async join(): Promise<readonly string[]> {
    await this.#beat({ isStart: true });
    this.#timer = setInterval(() => {
      this.#beating ??= this.#keepAlive();
    }, beatEveryMs);
    return readArray(await this.#run(heldLanesScript, [sharedLane(this.#parts.service)])).map(readString);
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    // It may join again, and would do so after this process has left.
    await this.#beating;
    const units = this.#subscriptions.map(({ type }) => unitOf(this.#parts.service, type));
    await this.#run(leaveScript, [this.#id, ...units]).catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'could not tell that this process leaves; others notice within 16 s');
    });
  }

  async #keepAlive(): Promise<void> {
    try {
      await this.#beat({ isStart: false });
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'could not tell that this process lives; it tries again');
    } finally {
      this.#beating = undefined;
    }
  }

  /** Brings back events that were set aside while nobody handled their type. */
  async #unpark(): Promise<void> {
    const args = this.#subscriptions.map(({ type }) => unitOf(this.#parts.service, type));
    while (readNumber(await this.#run(unparkScript, args)) > 0);
  }

  async #beat({ isStart }: { isStart: boolean }): Promise<void> {
    const description = this.#describe();
    const hash = createHash('sha1').update(description).digest('hex');
    const head = [this.#id, livesForMs, hash];
    const isDescribed = (await this.#run(beatScript, head)) ?? (await this.#subscribe([...head, isStart ? '1' : '']));
    if (isDescribed === 0) await this.#run(describeScript, [hash, description, livesForMs]);
    // Some may have been set aside while this process was taken for dead.
    await this.#unpark();
  }

  /** At the start, and where this process was taken for dead: its service may have been retired meanwhile. */
  #subscribe(head: readonly ScriptArgument[]): Promise<unknown> {
    return this.#run(joinScript, [...head, ...routeArguments(this.#parts.service, this.#subscriptions)]);
  }

  #run(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    const { commands, prefix } = this.#parts;
    const run = (client: Redis): Promise<unknown> => script.run(client, prefix, args);
    return commands.run(run, { isRepeatable: true });
  }
}
