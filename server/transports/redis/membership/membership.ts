import { createHash } from 'node:crypto';
import type { ConsumeOptions, Logger, PausedTypes } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { otherLayoutError } from '../connection/data-epoch.js';
import { readArray, readNumber, readString } from '../connection/reply.js';
import { type Script, type ScriptArgument, scripts } from '../connection/script.js';
import { maxTypesPerScript } from '../connection/script-limits.js';
import { serviceTypeOf, sharedQueue } from '../names.js';
import { withoutArguments } from '../redis-errors.js';
import { readServedQueues, type ServedQueue, typeSettings } from './rebalance.js';

const heartbeatIntervalMs = 5_000;
// A process may miss three heartbeats.
const lifetimeMs = 16_000;

export interface MembershipParts {
  readonly service: string;
  /** Id of this process, with which the tokens of its leases start. */
  readonly processId: string;
  readonly commands: CommandClient;
  readonly logger: Logger;
  /** Returns the number of handlers that run. */
  readonly active: () => number;
}

type MembershipOptions = Pick<
  ConsumeOptions,
  'subscriptions' | 'declared' | 'describe' | 'describeProcess' | 'onRegister'
>;

/**
 * Registration of this process on Redis: its subscriptions, its description and its heartbeat. Whenever a process of
 * the service joins, leaves or is found dead, one of its processes rebalances the service.
 */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #options: MembershipOptions;
  readonly #service: string;
  readonly #id: string;
  #startOrder: number | undefined;
  #paused: PausedTypes | undefined;
  /** Hash of the description that Redis has of this process. */
  #described = '';
  #timer: NodeJS.Timeout | undefined;
  #heartbeat: Promise<void> | undefined;
  #onHeartbeat = (): void => {};
  #onRegisteredAgain = (): void => {};

  /** @param paused types of which the service starts nothing, if that is known */
  constructor(parts: MembershipParts, options: MembershipOptions, paused?: PausedTypes) {
    this.#parts = parts;
    this.#paused = paused;
    this.#id = parts.processId;
    this.#options = options;
    this.#service = sharedQueue(parts.service);
  }

  /**
   * Registers the process. From now on events of its subscriptions are kept for the service, with or without a running
   * process.
   *
   * @throws {UnexpectedDataError} if the data has the layout of another build
   */
  async join(): Promise<void> {
    const startOrder = await this.#run(scripts.startOrder, []);
    if (startOrder === null) throw otherLayoutError();
    this.#startOrder = readNumber(startOrder);
    await this.#options.onRegister?.();
    await this.#register();
    this.#timer = setInterval(() => {
      this.#heartbeat ??= this.#keepAlive();
    }, heartbeatIntervalMs);
  }

  /** Starts nothing of some types in the service. Registration and heartbeats repeat it: Redis may lose what it replied. */
  async pause(paused: PausedTypes): Promise<void> {
    this.#paused = paused;
    if (this.#startOrder !== undefined) await this.#putPauseIntoEffect();
  }

  async #putPauseIntoEffect(): Promise<void> {
    const change = await this.#storePause();
    if (change !== undefined) await this.#rebalance(change);
  }

  /** Returns the number of the change if it has yet to be part of a rebalance. */
  async #storePause(): Promise<string | undefined> {
    if (this.#paused === undefined || !this.#isConsumer) return undefined;
    const { revision, types } = this.#paused;
    const serviceTypes = types === 'all' ? [] : types.map((type) => serviceTypeOf(this.#parts.service, type));
    const head = [this.#service, revision, types === 'all' ? 1 : 0];
    const change = await this.#run(scripts.pauseTypes, [...head, ...serviceTypes]);
    return change === null ? undefined : String(readNumber(change));
  }

  /** Id of this process in the registration. */
  get id(): string {
    return this.#id;
  }

  /** @param listener called after each heartbeat */
  onHeartbeat(listener: () => void): void {
    this.#onHeartbeat = listener;
  }

  /** @param listener called after the registration had expired: what others kept for the process may be gone */
  onRegisteredAgain(listener: () => void): void {
    this.#onRegisteredAgain = listener;
  }

  /** Returns the worker queues that this process has to serve by now. */
  async servedQueues(): Promise<readonly ServedQueue[]> {
    return readServedQueues(await this.#run(scripts.servedQueues, [this.#service, this.#id]));
  }

  /** Registers the process again if Redis has lost its registration. */
  async rejoin(): Promise<void> {
    await this.#sendHeartbeat();
    this.#onHeartbeat();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#onHeartbeat = () => {};
    // A heartbeat in flight could register the process again after it has left.
    await this.#heartbeat;
    try {
      const change = await this.#run(scripts.leave, [this.#id, this.#service]);
      if (change !== null) await this.#rebalance(String(readNumber(change)));
    } catch (error) {
      const seconds = lifetimeMs / 1_000;
      this.#parts.logger.warn(
        { err: withoutArguments(error) },
        `could not deregister this process; it expires within ${seconds} s`,
      );
    }
  }

  async #keepAlive(): Promise<void> {
    try {
      await this.#sendHeartbeat();
      this.#onHeartbeat();
    } catch (error) {
      this.#parts.logger.debug({ err: withoutArguments(error) }, 'heartbeat failed; the next one follows');
    } finally {
      this.#heartbeat = undefined;
    }
  }

  async #sendHeartbeat(): Promise<void> {
    const { description, hash, head } = this.#description();
    // Before the process refers to it: readers would not see a process whose description is not stored.
    if (hash !== this.#described) await this.#describe(description, hash);
    const reply = await this.#run(scripts.heartbeat, [...head, this.#service]);
    // If the registration has expired, the service may have been retired since: it subscribes again.
    if (reply === null) {
      await this.#options.onRegister?.();
      await this.#register();
      this.#onRegisteredAgain();
      return;
    }
    const [isDescribed, changes, rebalanced] = readArray(reply);
    // An earlier version let it expire.
    if (isDescribed === 0) await this.#describe(description, hash);
    // Also if the process that began the rebalance has died.
    if (changes !== rebalanced) await this.#rebalance(readString(changes));
    await this.#putPauseIntoEffect();
  }

  async #register(): Promise<void> {
    const { subscriptions, declared = [] } = this.#options;
    const { description, hash, head } = this.#description();
    await this.#describe(description, hash);
    const rows = subscriptions.map((subscription) => {
      const { serviceType, json } = typeSettings(this.#parts.service, subscription);
      return [serviceType, json];
    });
    for (const portion of portions(rows)) await this.#run(scripts.register, [...head, ...portion]);
    const kept = declared.flatMap(({ type, subscribers }) =>
      subscribers.map((service) => [serviceTypeOf(service, type), type]),
    );
    if (kept.length > 0) for (const portion of portions(kept)) await this.#run(scripts.declare, portion);
    if (!this.#isConsumer) return;
    await this.#storePause();
    await this.#feedTriggers();
    const entry = [this.#service, this.#id, this.#startOrder ?? 0];
    await this.#rebalance(String(readNumber(await this.#run(scripts.enter, entry))));
  }

  /** Starts the runs of the events that were kept for the service before it subscribed to them. */
  async #feedTriggers(): Promise<void> {
    const { subscriptions } = this.#options;
    for (const trigger of new Set(subscriptions.flatMap((each) => each.triggers ?? []))) {
      const triggered = subscriptions
        .filter((each) => each.triggers?.includes(trigger) === true)
        .map((each) => typeSettings(this.#parts.service, each));
      const isHandled = subscriptions.some(({ type }) => type === trigger);
      const args = [serviceTypeOf(this.#parts.service, trigger), isHandled ? 1 : 0];
      const types = triggered.flatMap(({ serviceType, json }) => [serviceType, json]);
      while ((await this.#run(scripts.feedTriggers, [...args, ...types])) === 1);
    }
  }

  async #rebalance(change: string): Promise<void> {
    let cursor = '0';
    do cursor = readString(await this.#run(scripts.rebalance, [this.#service, cursor]));
    while (cursor !== '0');
    await this.#run(scripts.announceRebalance, [this.#service, change]);
  }

  get #isConsumer(): boolean {
    return this.#options.subscriptions.length > 0;
  }

  /** Service whose events this process handles; empty if it handles none. */
  get #consumerOf(): string {
    return this.#isConsumer ? this.#service : '';
  }

  #description(): { readonly description: string; readonly hash: string; readonly head: readonly ScriptArgument[] } {
    const description = this.#options.describe?.() ?? '{}';
    const hash = createHash('sha1').update(description).digest('hex');
    const state = this.#options.describeProcess?.(this.#parts.active()) ?? '';
    return { description, hash, head: [this.#id, lifetimeMs, hash, state, this.#consumerOf] };
  }

  async #describe(description: string, hash: string): Promise<void> {
    await this.#run(scripts.describe, [hash, description, lifetimeMs, this.#consumerOf, this.#described]);
    this.#described = hash;
  }

  #run(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    return this.#parts.commands.runScript(script, args);
  }
}

/** Returns the arguments of one script each: one list at least. */
function portions(rows: readonly (readonly string[])[]): string[][] {
  const count = Math.max(1, Math.ceil(rows.length / maxTypesPerScript));
  return Array.from({ length: count }, (_, index) =>
    rows.slice(index * maxTypesPerScript, (index + 1) * maxTypesPerScript).flat(),
  );
}
