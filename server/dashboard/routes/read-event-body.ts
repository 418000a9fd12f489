import type { Hub } from '../../hub/hub.js';
import type { DashboardOptions } from '../dashboard-options.js';
import type { EventBody } from '../protocol.js';
import { redacted } from './redact-failure.js';

/** Reads one event type in depth, its failures redacted. */
export async function readEventBody(
  hub: Hub,
  type: string,
  redactError: DashboardOptions['redactError'],
): Promise<EventBody> {
  const [metrics, failures] = await Promise.all([hub.metrics(type), hub.failures(type)]);
  return { ...metrics, recentFailures: failures.map((failure) => redacted(failure, redactError)) };
}
