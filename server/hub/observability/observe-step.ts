import { instruments } from '../../telemetry/instruments.js';
import { openTelemetry } from '../../telemetry/open-telemetry.js';
import { Operation } from '../../telemetry/operation.js';

/** Starts a span for one attempt at a workflow's step, if an SDK is registered. */
export function startStep(workflow: string, step: string, attempt: number): Operation | undefined {
  const api = openTelemetry();
  if (api === undefined) return undefined;
  return Operation.start(api, {
    name: `step ${step}`,
    kind: api.SpanKind.INTERNAL,
    dimensions: { 'hubline.workflow.name': workflow, 'hubline.workflow.step': step },
    attributes: { 'hubline.attempt': attempt },
    histogram: instruments(api).stepDuration,
  });
}
