import type { Redactor } from '../../redaction/redactor.js';
import type { TypeActivity } from '../../transports/statistics/stats.js';
import type { TypeCounts } from '../../transports/transport.js';
import type { EventDescription } from './descriptions/hub-description.js';
import type { Served } from './descriptions/merge-descriptions.js';
import type { EventIntrospection } from './introspection.js';

/** Counts and activity of an event type or a workflow. */
export interface CountedType {
  readonly typeCounts: TypeCounts;
  readonly typeActivity: TypeActivity;
}

interface Known extends CountedType {
  readonly served: Served<EventDescription>;
  readonly event: EventIntrospection;
}

/**
 * Introspects event types. The introspection of a type is the same object until its registrations, counts or activity
 * are other objects: transports return the same ones for a type that is idle.
 */
export class EventIntrospections {
  readonly #redactor: Redactor;
  #known: readonly Known[] = [];

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** @param countedOf returns the counts of a type; `undefined` omits the type */
  read(
    all: readonly Served<EventDescription>[],
    countedOf: (type: string, index: number) => CountedType | undefined,
  ): readonly EventIntrospection[] {
    const known: Known[] = [];
    const events: EventIntrospection[] = [];
    for (const [index, served] of all.entries()) {
      const counted = countedOf(served.description.type, index);
      if (counted === undefined) continue;
      const last = this.#known[known.length];
      const found =
        last !== undefined &&
        last.served === served &&
        last.typeCounts === counted.typeCounts &&
        last.typeActivity === counted.typeActivity
          ? last
          : { served, ...counted, event: introspectEvent(served, counted, this.#redactor) };
      known.push(found);
      events.push(found.event);
    }
    this.#known = known;
    return events;
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function introspectEvent(
  { description, processes, processCount }: Served<EventDescription>,
  { typeCounts: { total, services }, typeActivity: { recent, lastFailure } }: CountedType,
  redactor: Redactor,
): EventIntrospection {
  const { type, kind } = description;
  // V8 adds properties to a copy of a description many times slower than it copies the description into an object.
  const event: Writable<EventIntrospection> = Object.assign(
    { type, kind, processes: processCount, metrics: total, recent },
    description,
  );
  // The description may be of another version, with any properties.
  event.processes = processCount;
  event.metrics = total;
  event.recent = recent;
  if (lastFailure !== undefined) event.lastFailure = redactor.recorded(lastFailure);
  const listed = listServices(services, processes);
  if (listed !== undefined) event.services = listed;
  return event;
}

/** Returns counts and processes per service; `undefined` if there is but one service, and a process for what waits. */
export function listServices(
  services: TypeCounts['services'],
  processes: ReadonlyMap<string, number>,
): EventIntrospection['services'] {
  // The name of a service without a process tells the operator which service the events wait for.
  const isListed =
    services.length > 1 ||
    services.some(({ service, counts: { pending } }) => pending > 0 && (processes.get(service) ?? 0) === 0);
  if (!isListed) return undefined;
  return services.map(({ service, counts }) => ({ service, processes: processes.get(service) ?? 0, metrics: counts }));
}
