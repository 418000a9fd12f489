import { InvalidOptionError, quote } from '../errors.js';
import { type DeclaredEvent, type Delivery, type Subscription, workflowType } from '../transports/delivery.js';
import type { DeliveryHandler } from '../transports/transport.js';
import {
  BatchCollector,
  type BatchHandlerFunction,
  type BatchOptions,
  type BatchSettings,
  defaultBatchConcurrency,
} from './events/batch.js';
import type { RegisteredEvent } from './events/event.js';
import { Attempt, type HandledEvent } from './events/event-attempt.js';
import { handlerInfo } from './events/reported-agents.js';
import { observeDelivery } from './observability.js';
import type { RunHost } from './runs/requested-step.js';
import type { RunScope } from './runs/step.js';
import type { WatchedType } from './runs/watch-run.js';
import type { AnyWorkflow, RunDefinition } from './runs/workflow.js';
import { runWorkflow } from './runs/workflow-run.js';
import type { AttemptTally } from './work.js';

/** Subscriptions of a hub, and the consumer of their deliveries. */
export interface Subscriptions {
  readonly subscriptions: readonly Subscription[];
  readonly declared: readonly DeclaredEvent[];
  readonly onDelivery: DeliveryHandler;
  /** Lets no event wait for a batch any more. */
  readonly flush: () => void;
  /** Types whose runs can be watched. */
  readonly watchedTypes: readonly WatchedType[];
}

/** Definitions to subscribe to. Events without a handler are skipped. */
export interface Definitions {
  readonly events: Iterable<RegisteredEvent>;
  readonly workflows: Iterable<AnyWorkflow>;
}

/** Creates the subscriptions for all handled events and all workflows. */
export function createSubscriptions(
  { events, workflows }: Definitions,
  host: RunHost & { readonly tally?: AttemptTally | undefined },
): Subscriptions {
  const handlers = new Map<string, DeliveryHandler>();
  const subscriptions: Subscription[] = [];
  const declared: DeclaredEvent[] = [];
  const watchedTypes: WatchedType[] = [];
  const collectors: BatchCollector[] = [];
  for (const event of events) {
    const { subscribers } = event;
    if (subscribers.length > 0) declared.push({ type: event.type, subscribers });
    if (!isHandled(event)) continue;
    const { type, batch } = event;
    const isRun = handlerInfo(event.handler)?.isDurable === true;
    if (isRun && event.limit !== undefined) {
      const expected = 'omitted for an agent or a durableHandler: its models and tools have a limit';
      throw new InvalidOptionError(`limit of event ${quote(type)}`, expected, event.limit, 'type');
    }
    if (isRun && batch !== undefined) {
      throw new InvalidOptionError(
        `batch of event ${quote(type)}`,
        'omitted for an agent or a durableHandler',
        batch,
        'type',
      );
    }
    const definition = isRun ? eventRun(event) : undefined;
    const batches = batch === undefined ? undefined : new BatchCollector(batchSettings(event, batch), host);
    if (batches !== undefined) collectors.push(batches);
    handlers.set(type, (delivery) => {
      if (definition === undefined) new Attempt(event, delivery, host, batches).run();
      else runWorkflow(definition, delivery, host);
    });
    if (isRun) watchedTypes.push({ type, listed: [] });
    subscriptions.push({ type, ...(isRun && { retainsRuns: true }), ...createLimits(event) });
  }
  for (const workflow of workflows) {
    const { name, version, steps, triggers, retain, key, concurrencyPerKey } = workflow;
    const type = workflowType(name);
    handlers.set(type, (delivery) => runWorkflow(workflow, delivery, host));
    watchedTypes.push({ type, listed: steps });
    subscriptions.push({
      type,
      version,
      retainsRuns: true,
      retain,
      ...(triggers.length > 0 && { triggers: triggers.map(({ type }) => type) }),
      ...((key !== undefined || concurrencyPerKey !== undefined) && {
        perKey: { ...(concurrencyPerKey !== undefined && { concurrency: concurrencyPerKey }) },
      }),
    });
  }
  // Transports deliver only subscribed types, so every type has a handler.
  const consume = (delivery: Delivery): void => handlers.get(delivery.envelope.type)?.(delivery);
  return {
    subscriptions,
    declared,
    watchedTypes,
    onDelivery: (delivery) => observeDelivery(delivery, host, consume),
    flush: () => {
      for (const collector of collectors) collector.flush();
    },
  };
}

function batchSettings(event: HandledEvent, batch: BatchOptions): BatchSettings {
  const { type, timeoutMs, concurrency, concurrencyPerKey, limit, handler, debounceMs, debounceMaxMs } = event;
  return {
    type,
    batch,
    // With `batch`, the overloads of Hub.event take this kind of handler, and `resolveEvent` no function as a limit.
    handler: handler as unknown as BatchHandlerFunction,
    ...(limit !== undefined && typeof limit !== 'function' && { limit }),
    ...(debounceMs !== undefined &&
      event.debounceKeep === 'all' && {
        debounce: { ms: debounceMs, ...(debounceMaxMs !== undefined && { maxMs: debounceMaxMs }) },
      }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
  };
}

/**
 * Creates the limits on starts of an event type and of its keys. A transport hands out single events: so many of them as
 * the batches that may run at once have. Each process collects those that it received.
 */
function createLimits(event: RegisteredEvent): Pick<Subscription, 'concurrency' | 'rate' | 'perKey' | 'debounce'> {
  const { key, rate, debounceMs, debounceMaxMs, debounceKeep, batch } = event;
  const perBatch = (slots: number | undefined): number | undefined => slots && slots * (batch?.max ?? 1);
  const concurrency = perBatch(event.concurrency ?? (batch && defaultBatchConcurrency));
  const concurrencyPerKey = perBatch(event.concurrencyPerKey);
  const limit = rate && { max: rate.max, perMs: rate.perMs };
  const isPerKey = rate?.perKey === true;
  return {
    ...(concurrency !== undefined && { concurrency }),
    ...(limit !== undefined && !isPerKey && { rate: limit }),
    ...(key !== undefined && {
      perKey: {
        ...(concurrencyPerKey !== undefined && { concurrency: concurrencyPerKey }),
        ...(limit !== undefined && isPerKey && { rate: limit }),
      },
    }),
    // Its process collects the events of a window of which all are kept.
    ...(debounceMs !== undefined &&
      debounceKeep !== 'all' && {
        debounce: { ms: debounceMs, ...(debounceMaxMs !== undefined && { maxMs: debounceMaxMs }) },
      }),
  };
}

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
}

/** Returns the run of an event whose handler records its turns. */
function eventRun({ type, schema, followUps, retry, timeoutMs, handler, when }: HandledEvent): RunDefinition {
  return {
    isEvent: true,
    name: type,
    version: 1,
    followUps,
    retry,
    ...(schema !== undefined && { input: schema }),
    ...(when !== undefined && { when }),
    run: (scope: RunScope) => scope.handle(handler, timeoutMs),
  };
}
