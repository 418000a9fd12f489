import type { Attributes } from '@opentelemetry/api';
import { workflowOf } from '../../transports/workflow-type.js';

/** Where envelopes of a type go, as the semantic conventions for messaging describe it. */
export interface Destination {
  /** Of the event type or workflow. */
  readonly name: string;
  readonly attributes: Attributes;
}

/** @param service whose share of the type is meant; absent where it is all services' */
export function destinationOf(type: string, service?: string): Destination {
  const workflow = workflowOf(type);
  const name = workflow ?? type;
  return {
    name,
    attributes: {
      'messaging.system': 'hubline',
      'messaging.destination.name': name,
      'hubline.kind': workflow === undefined ? 'event' : 'workflow',
      ...(service !== undefined && { 'messaging.consumer.group.name': service }),
    },
  };
}
