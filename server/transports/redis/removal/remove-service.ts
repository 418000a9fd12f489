import type { Redis } from 'ioredis';
import { InvalidOptionError } from '../../../errors.js';
import { checkOptionNames } from '../../../option-names.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../../errors.js';
import { workflowOf, workflowType } from '../../workflow-type.js';
import type { CommandClient } from '../connection/command-client.js';
import {
  clearLaneScript,
  clearLettersScript,
  clearParkedScript,
  forgetScript,
  unsubscribeScript,
} from './remove-service-scripts.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { typeOf, unitOf } from '../names.js';
import { readArray, readNumber, readString } from '../scripts/reply.js';

/** What `transport.retire` takes. */
export interface RetireOptions {
  /**
   * Only these event types and workflows, such as those that a newer version of the service handles no more. A name
   * stands for both. @default all of the service
   */
  only?: readonly string[];
  /** Give up what is pending, and remove dead letters. @default false: nothing is done where there are any */
  discard?: boolean;
}

/** What retiring discarded: what there was when it ended the subscriptions. */
export interface RetireResult {
  /** Pending events and runs; they count as failed, with `RetiredError`. */
  readonly events: number;
  readonly deadLetters: number;
}

/** What is to be cleared, and what goes with it. */
interface Unsubscribed {
  readonly lanes: readonly string[];
  readonly units: readonly string[];
  readonly discarded: RetireResult;
}

const laneSets = ['delayed', 'prioritized', 'wait', 'active'];

/** Ends subscriptions of a service, and clears what it leaves behind. */
export class Retirement {
  readonly #commands: CommandClient;
  readonly #prefix: string;
  readonly #service: string;

  constructor(commands: CommandClient, prefix: string, service: string) {
    this.#commands = commands;
    this.#prefix = prefix;
    this.#service = service;
  }

  /** Where it is interrupted, the next call goes on. */
  async run(options: RetireOptions): Promise<RetireResult> {
    const { lanes, units, discarded } = await this.#unsubscribe(options);
    for (const lane of lanes) {
      for (const set of laneSets) await this.#clearLane(lane, set);
    }
    for (const unit of units) {
      await this.#clear(clearParkedScript, unit);
      await this.#clear(clearLettersScript, unit);
    }
    await this.#run(forgetScript, [encodeURIComponent(this.#service), ...units]);
    return discarded;
  }

  async #unsubscribe({ only = [], discard = false }: RetireOptions): Promise<Unsubscribed> {
    const chosen = only.flatMap((name) => [name, workflowType(name)]).map((type) => unitOf(this.#service, type));
    const args = [encodeURIComponent(this.#service), discard ? '1' : '', ...chosen];
    const [found, ...details] = readArray(await this.#run(unsubscribeScript, args));
    if (found === 'none') {
      throw new NotSubscribedError(this.#service, only, details.map(readString).map(decodeURIComponent));
    }
    if (found === 'running') {
      const type = typeOf(readString(details[0]));
      throw new ServiceRunningError(this.#service, workflowOf(type) ?? type);
    }
    if (found === 'holding') {
      throw new PendingEventsError(this.#service, readNumber(details[0]), readNumber(details[1]));
    }
    const [lanes, units, events, deadLetters] = details;
    return {
      lanes: readArray(lanes).map(readString),
      units: readArray(units).map(readString),
      // A living process of the service may come upon some first: who discards them makes no difference.
      discarded: { events: readNumber(events), deadLetters: readNumber(deadLetters) },
    };
  }

  async #clearLane(lane: string, set: string): Promise<void> {
    let cursor = '0';
    do cursor = readString(await this.#run(clearLaneScript, [lane, set, cursor]));
    while (cursor !== '0');
  }

  async #clear(script: Script, unit: string): Promise<void> {
    let cleared: number;
    do cleared = readNumber(await this.#run(script, [unit]));
    while (cleared > 0);
  }

  #run(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    const run = (client: Redis): Promise<unknown> => script.run(client, this.#prefix, args);
    return this.#commands.run(run, { isRepeatable: true });
  }
}

/** @throws {InvalidOptionError} */
export function checkRetireArguments(service: string, options: RetireOptions): void {
  const check = (ok: boolean, what: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(what, expected, got);
  };
  check(typeof service === 'string' && service !== '', 'service of retire', 'the name of a service', service);
  check(typeof options === 'object' && options !== null, 'options of retire', 'an object', options);
  checkOptionNames(options, ['only', 'discard'], 'retire');
  const { only, discard } = options;
  const isList = Array.isArray(only) && only.length > 0 && only.every((name) => typeof name === 'string');
  check(only === undefined || isList, 'only of retire', 'a list of names, one or more', only);
  check(discard === undefined || typeof discard === 'boolean', 'discard of retire', 'true or false', discard);
}
