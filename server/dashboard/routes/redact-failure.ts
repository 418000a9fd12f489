import { describe } from '../../errors.js';
import type { DashboardOptions, ShownError } from '../dashboard-options.js';
import type { FailureRecord } from '../protocol.js';

/** What is shown of a failure, by the application's `redactError` where it has one. */
export function redacted(failure: FailureRecord, redactError: DashboardOptions['redactError']): FailureRecord {
  return redactError === undefined ? failure : { ...failure, ...shown(redactError({ ...failure })) };
}

// Without types a promise or nothing may come back, and the error must not be shown then.
function shown(answer: ShownError): ShownError {
  const { name, message } = Object(answer) as Partial<Record<keyof ShownError, unknown>>;
  if (typeof name === 'string' && typeof message === 'string') return { name, message };
  throw new TypeError(`redactError must return { name, message }, both strings, got ${describe(answer)}`);
}
