import type { DurableRun } from '../../../hub/events/agent-support/durable-place.js';
import { RunQueue } from '../../memory/run-queue.js';
import { type ExchangeOptions, StoredExchange } from './stored-exchange.js';

const queues = new WeakMap<DurableRun, RunQueue>();

/**
 * Opens the conversation of an agent in a durable run. Agents of one run that share a conversation wait for each other
 * here: the run is held while one of them waits for other runs, so that they must not wait for each other there.
 */
export async function openInRun(run: DurableRun, options: ExchangeOptions): Promise<StoredExchange> {
  const { agentName, conversationId, isShared, signal } = options;
  let queue = queues.get(run);
  if (queue === undefined) {
    queue = new RunQueue();
    queues.set(run, queue);
  }
  const leave = isShared ? await queue.enter(JSON.stringify([agentName, conversationId]), signal) : undefined;
  try {
    const store = await run.hold(() => StoredExchange.open(options));
    if (leave !== undefined) void store.released.then(leave);
    return store;
  } catch (error) {
    leave?.();
    throw error;
  }
}
