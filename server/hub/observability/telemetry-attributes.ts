import type { Attributes } from '@opentelemetry/api';
import { workflowOf } from '../../transports/workflow-type.js';

/** Returns the name of the event type or workflow that an envelope's type denotes. */
export function destinationName(type: string): string {
  return workflowOf(type) ?? type;
}

/**
 * Returns the attributes of an envelope's type, as the semantic conventions for messaging define them.
 *
 * @param service service whose events are measured; absent for the events of all services
 */
export function telemetryAttributes(type: string, service?: string): Attributes {
  return {
    'messaging.system': 'hubline',
    'messaging.destination.name': destinationName(type),
    'hubline.kind': workflowOf(type) === undefined ? 'event' : 'workflow',
    ...(service !== undefined && { 'messaging.consumer.group.name': service }),
  };
}
