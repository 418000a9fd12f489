import { type DeclaredEvent, type Delivery, type Subscription, workflowType } from '../transports/delivery.js';
import type { DeliveryHandler } from '../transports/transport.js';
import type { RegisteredEvent } from './events/event.js';
import { Attempt, type HandledEvent } from './events/event-attempt.js';
import { handlerInfo } from './events/handler-info.js';
import { observeDelivery } from './observability.js';
import type { RunHost } from './runs/requested-step.js';
import type { RunScope } from './runs/step.js';
import type { WatchedType } from './runs/watch-run.js';
import type { AnyWorkflow, RunDefinition } from './runs/workflow.js';
import { runWorkflow } from './runs/workflow-run.js';

/** Subscriptions of a hub, and the consumer of their deliveries. */
export interface Subscriptions {
  readonly subscriptions: readonly Subscription[];
  readonly declared: readonly DeclaredEvent[];
  readonly onDelivery: DeliveryHandler;
  /** Types whose runs can be watched. */
  readonly watchedTypes: readonly WatchedType[];
}

/** Definitions to subscribe to. Events without a handler are skipped. */
export interface Definitions {
  readonly events: Iterable<RegisteredEvent>;
  readonly workflows: Iterable<AnyWorkflow>;
}

/** Creates the subscriptions for all handled events and all workflows. */
export function createSubscriptions({ events, workflows }: Definitions, host: RunHost): Subscriptions {
  const handlers = new Map<string, DeliveryHandler>();
  const subscriptions: Subscription[] = [];
  const declared: DeclaredEvent[] = [];
  const watchedTypes: WatchedType[] = [];
  for (const event of events) {
    const { subscribers } = event;
    if (subscribers.length > 0) declared.push({ type: event.type, subscribers });
    if (!isHandled(event)) continue;
    const { type, concurrency } = event;
    const isRun = handlerInfo(event.handler)?.isDurable === true;
    const definition = isRun ? eventRun(event) : undefined;
    handlers.set(type, (delivery) => {
      if (definition === undefined) new Attempt(event, delivery, host).run();
      else runWorkflow(definition, delivery, host);
    });
    if (isRun) watchedTypes.push({ type, listed: [] });
    subscriptions.push({
      type,
      ...(isRun && { retainsRuns: true }),
      ...(concurrency !== undefined && { concurrency }),
      ...createLimits(event),
    });
  }
  for (const workflow of workflows) {
    const { name, version, steps, trigger, retain, key, concurrencyPerKey } = workflow;
    const type = workflowType(name);
    handlers.set(type, (delivery) => runWorkflow(workflow, delivery, host));
    watchedTypes.push({ type, listed: steps });
    subscriptions.push({
      type,
      version,
      retainsRuns: true,
      retain,
      ...(trigger !== undefined && { trigger }),
      ...((key !== undefined || concurrencyPerKey !== undefined) && {
        perKey: { ...(concurrencyPerKey !== undefined && { concurrency: concurrencyPerKey }) },
      }),
    });
  }
  // Transports deliver only subscribed types, so every type has a handler.
  const consume = (delivery: Delivery): void => handlers.get(delivery.envelope.type)?.(delivery);
  return { subscriptions, declared, watchedTypes, onDelivery: (delivery) => observeDelivery(delivery, host, consume) };
}

/** Creates the limits on starts of an event type and of its keys. */
function createLimits(event: RegisteredEvent): Pick<Subscription, 'rate' | 'perKey' | 'debounce'> {
  const { key, concurrencyPerKey, rate, debounceMs, debounceMaxMs } = event;
  const limit = rate && { max: rate.max, perMs: rate.perMs };
  const isPerKey = rate?.perKey === true;
  return {
    ...(limit !== undefined && !isPerKey && { rate: limit }),
    ...(key !== undefined && {
      perKey: {
        ...(concurrencyPerKey !== undefined && { concurrency: concurrencyPerKey }),
        ...(limit !== undefined && isPerKey && { rate: limit }),
      },
    }),
    ...(debounceMs !== undefined && {
      debounce: { ms: debounceMs, ...(debounceMaxMs !== undefined && { maxMs: debounceMaxMs }) },
    }),
  };
}

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
}

/** Returns the run of an event whose handler records its turns. */
function eventRun({ type, schema, followUps, retry, timeoutMs, handler }: HandledEvent): RunDefinition {
  return {
    isEvent: true,
    name: type,
    version: 1,
    followUps,
    retry,
    ...(schema !== undefined && { input: schema }),
    run: (scope: RunScope) => scope.handle(handler, timeoutMs),
  };
}
