import type { TransportManager, TypeCounts } from '../transports/transport.js';
import { version } from '../version.js';
import type { RegisteredEvent } from './event.js';
import type { EventIntrospection, HubIntrospection } from './introspection.js';

/** Reads everything registered, with its counts, in one round trip to the transport. */
export async function introspect(
  events: ReadonlyMap<string, RegisteredEvent>,
  transport: TransportManager,
  startedAt: number | null,
): Promise<HubIntrospection> {
  const registered = [...events.values()];
  const counts = await transport.counts(registered.map(({ type }) => type));
  return {
    hub: { service: transport.service, transport: transport.name, version, startedAt, now: transport.clock.now() },
    events: registered.flatMap((event, index) => {
      const typeCounts = counts[index];
      return typeCounts === undefined ? [] : [introspectEvent(event, typeCounts)];
    }),
    workflows: [],
    agents: [],
  };
}

function introspectEvent(event: RegisteredEvent, { total, services }: TypeCounts): EventIntrospection {
  const { type, description, handler, retry, timeoutMs, concurrency, rate, followUps, schema } = event;
  return {
    type,
    kind: handler === undefined ? 'declared' : 'handler',
    ...(description !== undefined && { description }),
    ...(retry !== undefined && {
      retry: {
        maxAttempts: retry.maxAttempts,
        initialDelayMs: retry.initialDelayMs,
        maxDelayMs: retry.maxDelayMs,
        factor: retry.factor,
        jitter: retry.jitter,
      },
    }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate }),
    ...followUps,
    ...(schema?.jsonSchema !== undefined && { schema: schema.jsonSchema }),
    metrics: total,
    ...(services.length > 1 && {
      services: services.map(({ service, counts }) => ({ service, metrics: counts })),
    }),
  };
}
