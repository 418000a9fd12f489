import { UnknownEventError } from '../errors.js';
import type { RegisteredNames } from '../introspection/introspector.js';
import { nearestNames } from './nearest-names.js';
import type { Registry } from './registry.js';

/**
 * Checks that a running hub registered an event type. The error names near types of all hubs, because a read-only hub
 * has none itself.
 *
 * @param running names that running hubs registered
 * @throws {UnknownEventError | InvalidOptionError}
 */
export function checkEventName(type: string, registry: Registry, running: RegisteredNames): void {
  if (running.events.has(type)) return;
  if (registry.hasWorkflow(type) || running.workflows.has(type)) {
    const hint = 'it is the name of a workflow: hub.introspect() returns the counts and runs of workflows';
    throw new UnknownEventError(type, [], undefined, hint);
  }
  if (running.events.size === 0 || typeof type !== 'string') registry.eventOfType(type);
  const known = new Set([...[...registry.events].map((event) => event.type), ...running.events]);
  throw new UnknownEventError(type, nearestNames(type, known));
}
