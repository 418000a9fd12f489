import type { Hub } from '../../hub/hub.js';
import { computeHealth } from '../../hub/introspection/health.js';
import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import type { DashboardOptions } from '../dashboard-options.js';
import type { EventIntrospection, FailureRecord, IntrospectionBody, RunIntrospection } from '../protocol.js';
import { redactFailure } from './redact-failure.js';

type Redact = DashboardOptions['redactError'];

/** Reads everything that is registered on the hub, with the errors of events and workflow runs redacted. */
export async function readIntrospectionBody(hub: Hub, redactError: Redact): Promise<IntrospectionBody> {
  const introspection = redactLastFailures(await hub.introspect(), redactError);
  const { hub: source, totals, events, workflows, agents, schedules } = introspection;
  const { keepsDeadLetters: _, ...shownHub } = source;
  return {
    protocol: 2,
    hub: shownHub,
    health: computeHealth(introspection),
    totals,
    events: events.map(shownEvent),
    workflows: workflows.map(({ lastFailure: _failure, ...workflow }) => ({
      ...workflow,
      runs: workflow.runs.map((run) => redactedRun(run, redactError)),
    })),
    agents,
    schedules,
  };
}

/** Redacts before the health derives from the failures, so that its problems are redacted too. */
function redactLastFailures(introspection: HubIntrospection, redactError: Redact): HubIntrospection {
  const redact = <T extends { readonly lastFailure?: FailureRecord }>(counted: T): T =>
    counted.lastFailure === undefined
      ? counted
      : { ...counted, lastFailure: redactFailure(counted.lastFailure, redactError) };
  return {
    ...introspection,
    events: introspection.events.map(redact),
    workflows: introspection.workflows.map(redact),
  };
}

function shownEvent(event: HubIntrospection['events'][number]): EventIntrospection {
  const { type, description, kind, agent, onSuccess, onFailure, onComplete, processes, services } = event;
  const { metrics, recent, lastFailure } = event;
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
    recent,
    ...(lastFailure !== undefined && {
      lastFailure: { at: lastFailure.at, name: lastFailure.name, message: lastFailure.message },
    }),
  };
}

type RunError = NonNullable<RunIntrospection['error']>;

function redactedRun(run: RunIntrospection, redactError: Redact): RunIntrospection {
  const { id, acceptedAt, attempt, endedAt = acceptedAt, error, steps } = run;
  const redact = (at: number, failed: RunError): RunError => {
    const { name, message } = redactFailure(
      { id, at, attempt, name: failed.name, message: failed.message },
      redactError,
    );
    return { name, message };
  };
  return {
    ...run,
    ...(error !== undefined && { error: redact(endedAt, error) }),
    steps: steps.map((step) =>
      step.error === undefined ? step : { ...step, error: redact(step.endedAt ?? endedAt, step.error) },
    ),
  };
}
