import { createHash, randomUUID } from 'node:crypto';
import type { Logger } from '../../logger.js';
import type { Subscription } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { serviceTypeOf, sharedQueue } from '../names.js';
import { readArray, readNumber, readString } from '../scripts/reply.js';
import type { ScriptArgument } from '../scripts/script.js';
import {
  describeScript,
  filledQueuesScript,
  heartbeatScript,
  joinScript,
  leaveScript,
  unparkScript,
} from './membership-scripts.js';
import { subscriptionTable } from './subscription-table.js';

const heartbeatIntervalMs = 5_000;
// A process may miss three heartbeats.
const lifetimeMs = 16_000;

export interface MembershipParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly logger: Logger;
}

/** Registration of this process on Redis: its subscriptions, its description and its heartbeat. */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #subscriptions: readonly Subscription[];
  readonly #describe: () => string;
  readonly #id = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #heartbeat: Promise<void> | undefined;

  /** @param describe returns the current description of this process */
  constructor(parts: MembershipParts, subscriptions: readonly Subscription[], describe: () => string) {
    this.#parts = parts;
    this.#subscriptions = subscriptions;
    this.#describe = describe;
  }

  /**
   * Registers the process. From now on events of its subscriptions are queued for the service, with or without a
   * running process.
   *
   * @returns the queues of the service that hold jobs, some perhaps of subscriptions that it no longer has
   */
  async join(): Promise<readonly string[]> {
    await this.#register({ isStart: true });
    this.#timer = setInterval(() => {
      this.#heartbeat ??= this.#keepAlive();
    }, heartbeatIntervalMs);
    const service = sharedQueue(this.#parts.service);
    return readArray(await this.#parts.commands.runScript(filledQueuesScript, [service])).map(readString);
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    // A heartbeat in flight could register the process again after it has left.
    await this.#heartbeat;
    await this.#parts.commands.runScript(leaveScript, [this.#id, ...this.#serviceTypes()]).catch((error: unknown) => {
      const seconds = lifetimeMs / 1_000;
      this.#parts.logger.warn({ err: error }, `could not deregister this process; it expires within ${seconds} s`);
    });
  }

  async #keepAlive(): Promise<void> {
    try {
      await this.#register({ isStart: false });
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'heartbeat failed; the next one follows');
    } finally {
      this.#heartbeat = undefined;
    }
  }

  async #register({ isStart }: { isStart: boolean }): Promise<void> {
    const { commands } = this.#parts;
    const description = this.#describe();
    const hash = createHash('sha1').update(description).digest('hex');
    const head = [this.#id, lifetimeMs, hash];
    // If the registration has expired, the service may have been retired since: it subscribes again.
    const isDescribed = (await commands.runScript(heartbeatScript, head)) ?? (await this.#join(head, isStart));
    if (isDescribed === 0) await commands.runScript(describeScript, [hash, description, lifetimeMs]);
    // Other processes park jobs of this one's types while its registration has expired.
    while (readNumber(await commands.runScript(unparkScript, this.#serviceTypes())) > 0);
  }

  #join(head: readonly ScriptArgument[], isStart: boolean): Promise<unknown> {
    const table = subscriptionTable(this.#parts.service, this.#subscriptions);
    return this.#parts.commands.runScript(joinScript, [...head, isStart ? '1' : '', ...table]);
  }

  #serviceTypes(): string[] {
    return this.#subscriptions.map(({ type }) => serviceTypeOf(this.#parts.service, type));
  }
}
