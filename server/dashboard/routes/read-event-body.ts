import type { Hub } from '../../hub/hub.js';
import type { DashboardOptions } from '../dashboard-options.js';
import type { EventBody } from '../protocol-1.js';
import { redactFailure } from './redact-failure.js';

/** Reads the body of one event type, with its failures redacted. */
export async function readEventBody(
  hub: Hub,
  type: string,
  redactError: DashboardOptions['redactError'],
): Promise<EventBody> {
  const [metrics, failures] = await Promise.all([hub.metrics(type), hub.failures(type)]);
  return { ...metrics, recentFailures: failures.map((failure) => redactFailure(failure, redactError)) };
}
