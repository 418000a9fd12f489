import { workflowType } from '../../transports/delivery.js';
import { UnknownEventError } from '../errors.js';
import type { Hub } from '../hub.js';
import { nearestNames } from '../nearest-names.js';

/** Event type or workflow, and a service that has dead letters of it. */
export interface DeadLetterPlace {
  readonly name: string;
  readonly service: string;
}

/**
 * Returns the names and services with dead letters, over all services.
 *
 * @param name event type or workflow; `undefined` for all
 * @throws {UnknownEventError} if no process ever had the name
 */
export async function deadLetterPlaces(hub: Hub, name: string | undefined): Promise<readonly DeadLetterPlace[]> {
  const { events, workflows } = await hub.introspect();
  const all = [...events.map((event) => event.type), ...workflows.map((workflow) => workflow.name)];
  const names = [...new Set(name === undefined ? all : [name])];
  const counts = await hub.transport.counts.get(names.flatMap((each) => [each, workflowType(each)]));
  const isKnown = name === undefined || all.includes(name) || counts.some(({ services }) => services.length > 0);
  if (!isKnown) throw new UnknownEventError(name, nearestNames(name, all), undefined, 'hubline events lists the types');
  return names.flatMap((each, index) => {
    const services = counts.slice(2 * index, 2 * index + 2).flatMap((count) => count.services);
    const withDead = services.filter((share) => share.counts.deadLetters > 0).map(({ service }) => service);
    return [...new Set(withDead)].map((service) => ({ name: each, service }));
  });
}
