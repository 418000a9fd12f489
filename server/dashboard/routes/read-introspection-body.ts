import type { Hub } from '../../hub/hub.js';
import { computeHealth } from '../../hub/introspection/health.js';
import type { EventIntrospection, HubIntrospection } from '../../hub/introspection/introspection.js';
import type { ColumnsBody, EventOverview, IntrospectionBody } from '../protocol.js';
import { eventColumns, shownDetails, withoutStart } from './event-columns.js';

/** Reads everything that is registered on the hub. */
export async function readIntrospectionBody(hub: Hub): Promise<IntrospectionBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection), events: introspection.events.map(shownEvent) };
}

/** Reads everything that is registered on the hub, with the event types as columns. */
export async function readColumnsBody(hub: Hub): Promise<ColumnsBody> {
  const introspection = await hub.introspect();
  return { ...bodyWithoutEvents(introspection), events: eventColumns(introspection.events) };
}

function bodyWithoutEvents(introspection: HubIntrospection): Omit<IntrospectionBody, 'events'> {
  const { hub, totals, workflows, agents, schedules } = introspection;
  const { keepsDeadLetters: _, ...shownHub } = hub;
  return {
    protocol: 2,
    hub: shownHub,
    health: computeHealth(introspection),
    totals,
    workflows: workflows.map(({ lastFailure: _failure, ...workflow }) => workflow),
    agents,
    schedules,
  };
}

function shownEvent(event: EventIntrospection): EventOverview {
  const { minutes } = event.recent;
  return {
    type: event.type,
    ...shownDetails(event),
    ...(event.processes !== undefined && { processes: event.processes }),
    metrics: event.metrics,
    recent: {
      ...event.recent,
      minutes: { received: withoutStart(minutes.received), failed: withoutStart(minutes.failed) },
    },
  };
}
