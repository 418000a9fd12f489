import type { Delivery, DeliveryHandler, Subscription } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { Attempt, type HandledEvent } from './events/attempt.js';
import type { RegisteredEvent } from './events/event.js';
import type { DeliveryHost } from './events/outcome-recorder.js';
import { observeDelivery } from './observability/observe-delivery.js';
import type { HubWorkflow } from './runs/workflow.js';
import { runWorkflow } from './runs/workflow-run.js';

/** What a hub asks its transport for, and what it does with that. */
export interface Subscriptions {
  readonly subscriptions: readonly Subscription[];
  readonly onDelivery: DeliveryHandler;
}

/** Of all events that have a handler, and of all workflows. */
export function subscribe(
  events: Iterable<RegisteredEvent>,
  workflows: Iterable<HubWorkflow>,
  host: DeliveryHost,
): Subscriptions {
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
    handlers.set(type, (delivery) => runWorkflow(workflow, delivery, host));
    subscriptions.push({
      type,
      keepsRuns: true,
      ...(trigger !== undefined && { trigger: { type: trigger, idSuffix: idSuffixOf(name) } }),
    });
  }
  const { service } = host.transport;
  // A transport delivers what was subscribed to, and nothing else.
  const consume = (delivery: Delivery): void => handlers.get(delivery.envelope.type)?.(delivery);
  return { subscriptions, onDelivery: (delivery) => observeDelivery(delivery, service, consume) };
}

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
}

/** Ids of follow-ups end otherwise: `.success`, say. So no two events of one cause have the same, whatever the name. */
function idSuffixOf(workflow: string): string {
  return `/${workflow.replace(/[%./]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)}`;
}
