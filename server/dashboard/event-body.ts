import { describe } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import type { DashboardOptions, ShownError } from './dashboard-options.js';
import type { EventBody } from './protocol.js';

/** Reads one event type in depth, its failures redacted. */
export async function readEventBody(
  hub: Hub,
  type: string,
  redactError: DashboardOptions['redactError'],
): Promise<EventBody> {
  const [metrics, failures] = await Promise.all([hub.metrics(type), hub.failures(type)]);
  const recentFailures =
    redactError === undefined
      ? failures
      : failures.map((failure) => ({ ...failure, ...shown(redactError({ ...failure })) }));
  return { ...metrics, recentFailures };
}

// Without types a promise or nothing may come back, and the error must not be shown then.
function shown(redacted: ShownError): ShownError {
  const { name, message } = Object(redacted) as Partial<Record<keyof ShownError, unknown>>;
  if (typeof name === 'string' && typeof message === 'string') return { name, message };
  throw new TypeError(`redactError must return { name, message }, both strings, got ${describe(redacted)}`);
}
