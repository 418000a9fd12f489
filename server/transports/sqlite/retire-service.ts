import { type ErrorInfo, errorInfo } from '../../errors.js';
import type { Broker } from '../broker/broker.js';
import type { ConsumerGroup } from '../broker/consumer-group.js';
import type { TypeQueue } from '../broker/type-queue.js';
import { type FailedOutcome, workflowType } from '../delivery.js';
import { RetiredError } from '../errors.js';
import type { Retirement, RetireOptions } from '../services.js';

const error: ErrorInfo = errorInfo(new RetiredError());
const outcome: FailedOutcome = { status: 'failed', durationMs: 0, error, followUps: [] };

// Events per change, so that timers and sockets get their turn.
const sliceSize = 256;

/**
 * Ends subscriptions of a service and discards what they leave behind, unless a connection handles one of the types, or
 * events or dead letters would be discarded without permission. If a call is interrupted, the next one completes it.
 */
export async function retireService(
  broker: Broker,
  service: string,
  { only, discard = false }: RetireOptions,
): Promise<Retirement> {
  const { journal } = broker;
  const group = broker.group(service);
  const retirement = await journal.change(() => unsubscribe(broker, group, only, discard));
  if (retirement.status !== 'done') return retirement;
  let isCleared = false;
  while (!isCleared) isCleared = await journal.change(() => clear(broker, group, only));
  return retirement;
}

function unsubscribe(
  broker: Broker,
  group: ConsumerGroup,
  only: readonly string[] | undefined,
  mayDiscard: boolean,
): Retirement {
  const types = typesOf(broker, group, only);
  if (types.length === 0) return { status: 'none', services: broker.subscribedServices };
  const running = types.find((type) => group.members.handles(type));
  if (running !== undefined) return { status: 'running', type: running };
  const queues = types.flatMap((type) => group.queues.find(type) ?? []);
  const events = queues.reduce((sum, { stats }) => sum + stats.received - stats.completed - stats.failed, 0);
  const deadLetters = queues.reduce((sum, queue) => sum + queue.deadLetters.size, 0);
  if (events + deadLetters > 0 && !mayDiscard) return { status: 'pending', events, deadLetters };
  for (const type of types) broker.removeRoute(type, group);
  for (const queue of queues) {
    const { retainsRuns, retain } = queue.subscription ?? {};
    // The last runs are retained as before.
    queue.subscribe({ type: queue.type, ...(retainsRuns && { retainsRuns }), ...(retain && { retain }) }, () => []);
  }
  return { status: 'done', events, deadLetters };
}

/** Discards events and dead letters of types without a subscription. Returns `true` if none is left. */
function clear(broker: Broker, group: ConsumerGroup, only: readonly string[] | undefined): boolean {
  const routed = broker.routes.typesOf(group);
  let left = sliceSize;
  for (const type of typesOf(broker, group, only)) {
    const queue = group.queues.find(type);
    if (queue === undefined || routed.has(type)) continue;
    left -= discardEvents(group, queue, left);
    left -= discardDeadLetters(queue, left);
    if (left <= 0) return false;
  }
  return true;
}

function discardEvents(group: ConsumerGroup, queue: TypeQueue, limit: number): number {
  let discarded = 0;
  for (; discarded < limit; discarded += 1) {
    const entry = queue.anyPending();
    if (entry === undefined) break;
    group.endRun(queue.type, entry, outcome, new RetiredError());
  }
  return discarded;
}

function discardDeadLetters(queue: TypeQueue, limit: number): number {
  const letters = [...queue.deadLetters.all()].slice(0, limit);
  for (const { entry } of letters) queue.deadLetters.take(entry.envelope.id);
  if (letters.length > 0) queue.stats.markChanged();
  return letters.length;
}

/** Returns the types that the group subscribes to, or that an interrupted retirement left behind. */
function typesOf(broker: Broker, group: ConsumerGroup, only: readonly string[] | undefined): string[] {
  const chosen = only && new Set(only.flatMap((name) => [name, workflowType(name)]));
  const left = [...group.queues.all()].filter(({ reader, deadLetters }) => reader.hasPending || deadLetters.size > 0);
  const types = new Set([...broker.routes.typesOf(group), ...left.map(({ type }) => type)]);
  return [...types].filter((type) => chosen === undefined || chosen.has(type));
}
