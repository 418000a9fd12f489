import { workflowOf, workflowType } from '../delivery.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../errors.js';
import type { RetireOptions, RetireResult } from '../services.js';
import type { CommandClient } from './connection/command-client.js';
import { otherLayoutError } from './connection/data-epoch.js';
import { readArray, readNumber, readString, unexpected } from './connection/reply.js';
import { type Script, scripts } from './connection/script.js';
import { encodeName, serviceTypeOf, typeOf } from './names.js';

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
 * @throws {InvalidOptionError | NotSubscribedError | ServiceRunningError | PendingEventsError | UnexpectedDataError}
 */
export async function removeService(
  commands: CommandClient,
  service: string,
  options: RetireOptions,
): Promise<RetireResult> {
  const { queues, serviceTypes, discarded } = await unsubscribe(commands, service, options);
  // Processes that release or recover jobs move them between the lists, and back to the gates, in the meantime.
  while ((await clearEvents(commands, queues, serviceTypes)) > 0);
  for (const serviceType of serviceTypes) await clear(commands, scripts.clearDeadLetters, serviceType);
  await commands.runScript(scripts.forget, [encodeName(service), ...serviceTypes]);
  return discarded;
}

async function unsubscribe(
  commands: CommandClient,
  service: string,
  { only = [], discard = false }: RetireOptions,
): Promise<Unsubscribed> {
  const chosen = only.flatMap((name) => [name, workflowType(name)]).map((type) => serviceTypeOf(service, type));
  const args = [encodeName(service), discard ? '1' : '', ...chosen];
  const [result, ...details] = readArray(await commands.runScript(scripts.unsubscribe, args));
  if (result === 'layout') throw otherLayoutError();
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

/** Returns the number of events that it found and discarded. */
async function clearEvents(
  commands: CommandClient,
  queues: readonly string[],
  serviceTypes: readonly string[],
): Promise<number> {
  let discarded = 0;
  for (const queue of queues) {
    for (const list of queueLists) discarded += await clearQueue(commands, queue, list);
  }
  for (const serviceType of serviceTypes) discarded += await clear(commands, scripts.clearGate, serviceType);
  return discarded;
}

async function clearQueue(commands: CommandClient, queue: string, list: string): Promise<number> {
  let [position, discarded] = [0, 0];
  do {
    const reply = readArray(await commands.runScript(scripts.clearQueue, [queue, list, position])).map(readNumber);
    position = reply[0] ?? 0;
    discarded += reply[1] ?? 0;
  } while (position > 0);
  return discarded;
}

async function clear(commands: CommandClient, script: Script, serviceType: string): Promise<number> {
  let [cleared, sum] = [0, 0];
  do {
    cleared = readNumber(await commands.runScript(script, [serviceType]));
    sum += cleared;
  } while (cleared > 0);
  return sum;
}
