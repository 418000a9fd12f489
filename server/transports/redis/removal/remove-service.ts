import { InvalidOptionError } from '../../../errors.js';
import { OptionChecker } from '../../../options.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../../errors.js';
import { workflowOf, workflowType } from '../../workflow-type.js';
import type { CommandClient } from '../connection/command-client.js';
import { encodeName, serviceTypeOf, typeOf } from '../names.js';
import { readArray, readNumber, readString, unexpected } from '../scripts/reply.js';
import type { Script } from '../scripts/script.js';
import {
  clearDeadLettersScript,
  clearGateScript,
  clearQueueScript,
  forgetScript,
  unsubscribeScript,
} from './remove-service-scripts.js';

/** Options of `transport.retire`. */
export interface RetireOptions {
  /**
   * Names of the event types and workflows to retire, such as those that a newer version of the service no longer
   * handles. A name stands for both. @default all of the service
   */
  only?: readonly string[];
  /**
   * Discard pending events and dead letters. With `false` the call rejects if there are any, and changes nothing.
   * @default false
   */
  discard?: boolean;
}

/** Numbers of discarded events and dead letters, as counted when the subscriptions ended. */
export interface RetireResult {
  /** Pending events and runs. They count as failed, with `RetiredError`. */
  readonly events: number;
  readonly deadLetters: number;
}

/** Rests of ended subscriptions. */
interface Unsubscribed {
  readonly queues: readonly string[];
  readonly serviceTypes: readonly string[];
  readonly discarded: RetireResult;
}

const queueLists = ['wait', 'active'];

/**
 * Ends subscriptions of a service and clears what they leave behind. If a call is interrupted, the next one completes
 * it.
 *
 * @throws {InvalidOptionError | NotSubscribedError | ServiceRunningError | PendingEventsError}
 */
export async function removeService(
  commands: CommandClient,
  service: string,
  options: RetireOptions,
): Promise<RetireResult> {
  const { queues, serviceTypes, discarded } = await unsubscribe(commands, service, options);
  for (const queue of queues) {
    for (const list of queueLists) await clearQueue(commands, queue, list);
  }
  for (const serviceType of serviceTypes) {
    await clear(commands, clearGateScript, serviceType);
    await clear(commands, clearDeadLettersScript, serviceType);
  }
  await commands.runScript(forgetScript, [encodeName(service), ...serviceTypes]);
  return discarded;
}

async function unsubscribe(
  commands: CommandClient,
  service: string,
  { only = [], discard = false }: RetireOptions,
): Promise<Unsubscribed> {
  const chosen = only.flatMap((name) => [name, workflowType(name)]).map((type) => serviceTypeOf(service, type));
  const args = [encodeName(service), discard ? '1' : '', ...chosen];
  const [result, ...details] = readArray(await commands.runScript(unsubscribeScript, args));
  if (result === 'none') {
    throw new NotSubscribedError(service, only, details.map(readString).map(decodeURIComponent));
  }
  if (result === 'running') {
    const type = typeOf(readString(details[0]));
    throw new ServiceRunningError(service, workflowOf(type) ?? type);
  }
  if (result === 'pending') {
    throw new PendingEventsError(service, readNumber(details[0]), readNumber(details[1]));
  }
  if (result !== 'done') throw unexpected('a result of unsubscribing', result);
  const [queues, serviceTypes, events, deadLetters] = details;
  return {
    queues: readArray(queues).map(readString),
    serviceTypes: readArray(serviceTypes).map(readString),
    // Counted before they are discarded: a live process of the service may discard some of them first.
    discarded: { events: readNumber(events), deadLetters: readNumber(deadLetters) },
  };
}

async function clearQueue(commands: CommandClient, queue: string, list: string): Promise<void> {
  let position = 0;
  do position = readNumber(await commands.runScript(clearQueueScript, [queue, list, position]));
  while (position > 0);
}

async function clear(commands: CommandClient, script: Script, serviceType: string): Promise<void> {
  let cleared: number;
  do cleared = readNumber(await commands.runScript(script, [serviceType]));
  while (cleared > 0);
}

/** @throws {InvalidOptionError} */
export function checkRetireArguments(service: string, options: RetireOptions): void {
  if (typeof service !== 'string' || service === '') {
    throw new InvalidOptionError('service of retire', 'the name of a service', service);
  }
  const check = new OptionChecker(options, ['only', 'discard'], 'retire');
  const { only, discard } = options;
  const isList = Array.isArray(only) && only.length > 0 && only.every((name) => typeof name === 'string');
  check.that(only === undefined || isList, 'only', 'a list of names, one or more', only);
  check.boolean('discard', discard);
}
