import type { Hub } from '../../hub/hub.js';
import type { DashboardOptions } from '../dashboard-options.js';
import type { IntrospectionBody, RunIntrospection } from '../protocol-1.js';
import { redactFailure } from './redact-failure.js';

/** Reads everything that is registered on the hub, with the errors of workflow runs redacted. */
export async function readIntrospectionBody(
  hub: Hub,
  redactError: DashboardOptions['redactError'],
): Promise<IntrospectionBody> {
  const introspection = await hub.introspect();
  const workflows = introspection.workflows.map((workflow) => ({
    ...workflow,
    runs: workflow.runs.map((run) => redactedRun(run, redactError)),
  }));
  return { protocol: 1, ...introspection, workflows };
}

type RunError = NonNullable<RunIntrospection['error']>;

function redactedRun(run: RunIntrospection, redactError: DashboardOptions['redactError']): RunIntrospection {
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
