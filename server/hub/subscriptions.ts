import type { Delivery, DeliveryHandler, Subscription } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { StoredPayloadError } from './errors.js';
import { Attempt, type HandledEvent } from './events/attempt.js';
import type { RegisteredEvent } from './events/event.js';
import { type HandlerHost, OutcomeRecorder } from './events/outcome-recorder.js';
import { observeDelivery } from './observability/observe-delivery.js';
import type { HubWorkflow } from './runs/workflow.js';
import { runWorkflow } from './runs/workflow-run.js';

/** Subscriptions of a hub, and the handler of their deliveries. */
export interface Subscriptions {
  readonly subscriptions: readonly Subscription[];
  readonly onDelivery: DeliveryHandler;
}

/** Definitions to subscribe to. Events without a handler are skipped. */
export interface Definitions {
  readonly events: Iterable<RegisteredEvent>;
  readonly workflows: Iterable<HubWorkflow>;
}

/** Creates the subscriptions for all handled events and all workflows. */
export function createSubscriptions({ events, workflows }: Definitions, host: HandlerHost): Subscriptions {
  const handlers = new Map<string, DeliveryHandler>();
  const subscriptions: Subscription[] = [];
  for (const event of events) {
    if (!isHandled(event)) continue;
    const { type, concurrency, rate } = event;
    handlers.set(type, (delivery) => new Attempt(event, delivery, host).run());
    subscriptions.push({
      type,
      ...(concurrency !== undefined && { concurrency }),
      ...(rate !== undefined && { rate }),
    });
  }
  for (const workflow of workflows) {
    const { name, trigger } = workflow;
    const type = workflowType(name);
    handlers.set(type, (delivery) => runReadable(workflow, delivery, host));
    subscriptions.push({
      type,
      keepsRuns: true,
      ...(trigger !== undefined && { trigger: { type: trigger, idSuffix: idSuffixOf(name) } }),
    });
  }
  // Transports deliver only subscribed types, so every type has a consumer.
  const consume = (delivery: Delivery): void => handlers.get(delivery.envelope.type)?.(delivery);
  return { subscriptions, onDelivery: (delivery) => observeDelivery(delivery, host, consume) };
}

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
}

/**
 * Escapes a name so that no two events with the same cause share an id. Ids of follow-ups end with `.success`, for
 * example.
 */
function idSuffixOf(workflow: string): string {
  return `/${workflow.replace(/[%./]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)}`;
}

/** Runs a workflow unless its stored input was changed. */
function runReadable(workflow: HubWorkflow, delivery: Delivery, host: HandlerHost): void {
  try {
    JSON.parse(delivery.envelope.body);
  } catch (error) {
    const recorder = new OutcomeRecorder('workflow', workflow.name, workflow.followUps, delivery, host);
    recorder.failUnreadable(new StoredPayloadError(workflow.name, error));
    return;
  }
  runWorkflow(workflow, delivery, host);
}
