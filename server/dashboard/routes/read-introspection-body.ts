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

function redactedRun(run: RunIntrospection, redactError: DashboardOptions['redactError']): RunIntrospection {
  const { id, attempt, endedAt, error } = run;
  if (error === undefined || endedAt === undefined) return run;
  const { name, message } = redactFailure({ id, at: endedAt, attempt, ...error }, redactError);
  return { ...run, error: { name, message } };
}
