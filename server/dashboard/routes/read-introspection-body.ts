import type { Hub } from '../../hub/hub.js';
import { computeHealth } from '../../hub/introspection/health.js';
import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import type { ColumnsBody, EventOverview, IntrospectionBody } from '../protocol.js';
import { eventColumns } from './event-columns.js';

/** Reads everything that is registered on the hub. */
export async function readIntrospectionBody(hub: Hub): Promise<IntrospectionBody> {
  const introspection = await hub.introspect();
  const { hub: source, totals, events, workflows, agents, schedules } = introspection;
  const { keepsDeadLetters: _, ...shownHub } = source;
  return {
    protocol: 2,
    hub: shownHub,
    health: computeHealth(introspection),
    totals,
    events: events.map(shownEvent),
    workflows: workflows.map(({ lastFailure: _failure, ...workflow }) => workflow),
    agents,
    schedules,
  };
}

/** Reads everything that is registered on the hub, with the event types as columns. */
export async function readColumnsBody(hub: Hub): Promise<ColumnsBody> {
  const body = await readIntrospectionBody(hub);
  return { ...body, events: eventColumns(body.events) };
}

function shownEvent(event: HubIntrospection['events'][number]): EventOverview {
  const { type, description, kind, agent, onSuccess, onFailure, onComplete, processes, services } = event;
  const { metrics, recent, lastFailure } = event;
  const { minutes } = recent;
  return {
    type,
    ...(description !== undefined && { description }),
    kind,
    ...(agent !== undefined && { agent }),
    ...(onSuccess !== undefined && { onSuccess }),
    ...(onFailure !== undefined && { onFailure }),
    ...(onComplete !== undefined && { onComplete }),
    ...(processes !== undefined && { processes }),
    ...(services !== undefined && { services }),
    metrics,
    recent: { ...recent, minutes: { received: withoutStart(minutes.received), failed: withoutStart(minutes.failed) } },
    ...(lastFailure !== undefined && {
      lastFailure: { at: lastFailure.at, name: lastFailure.name, message: lastFailure.message },
    }),
  };
}

/** Returns counts without their leading zeros, which pages would parse for each of thousands of types. */
function withoutStart(counts: readonly number[]): readonly number[] {
  const first = counts.findIndex((count) => count !== 0);
  return first === -1 ? [] : counts.slice(first);
}
