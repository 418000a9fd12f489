import type { Redis } from 'ioredis';
import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../errors.js';
import { workflowOf, workflowType } from '../workflow-type.js';
import type { CommandClient } from './command-client.js';
import {
  clearLaneScript,
  clearLettersScript,
  clearParkedScript,
  forgetScript,
  unsubscribeScript,
} from './lua/retirement.js';
import type { Script, ScriptArgument } from './lua/script.js';
import { typeOf, unitOf } from './names.js';
import { readArray, readNumber, readString } from './reply.js';

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

/** What retiring discarded. Where the connection was lost meanwhile it may be less than was; the service's counts are exact. */
export interface RetireResult {
  /** Pending events and runs; they count as failed, with `RetiredError`. */
  readonly events: number;
  readonly deadLetters: number;
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
    const { lanes, units } = await this.#unsubscribe(options);
    let events = 0;
    for (const lane of lanes) {
      for (const set of laneSets) events += await this.#clearLane(lane, set);
    }
    for (const unit of units) events += await this.#clear(clearParkedScript, unit);
    let deadLetters = 0;
    for (const unit of units) deadLetters += await this.#clear(clearLettersScript, unit);
    await this.#run(forgetScript, [encodeURIComponent(this.#service), ...units]);
    return { events, deadLetters };
  }

  async #unsubscribe({ only = [], discard = false }: RetireOptions): Promise<{ lanes: string[]; units: string[] }> {
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
    return { lanes: readArray(details[0]).map(readString), units: readArray(details[1]).map(readString) };
  }

  async #clearLane(lane: string, set: string): Promise<number> {
    let total = 0;
    let cursor = '0';
    do {
      const [next, discarded] = readArray(await this.#run(clearLaneScript, [lane, set, cursor]));
      cursor = readString(next);
      total += readNumber(discarded);
    } while (cursor !== '0');
    return total;
  }

  async #clear(script: Script, unit: string): Promise<number> {
    let total = 0;
    for (;;) {
      const cleared = readNumber(await this.#run(script, [unit]));
      if (cleared === 0) return total;
      total += cleared;
    }
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
