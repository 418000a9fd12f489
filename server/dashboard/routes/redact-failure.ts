import { describe } from '../../errors.js';
import type { DashboardOptions, ShownError } from '../dashboard-options.js';
import type { FailureRecord } from '../protocol.js';

/** Returns a failure as the dashboard may show it, changed by the application's `redactError` if there is one. */
export function redactFailure(failure: FailureRecord, redactError: DashboardOptions['redactError']): FailureRecord {
  return redactError === undefined ? failure : { ...failure, ...checkShown(redactError({ ...failure })) };
}

// Untyped code may return anything. A failure is not shown unless its redaction is valid.
function checkShown(result: ShownError): ShownError {
  const { name, message } = Object(result) as Partial<Record<keyof ShownError, unknown>>;
  if (typeof name === 'string' && typeof message === 'string') return { name, message };
  throw new TypeError(`redactError must return { name, message }, both strings, got ${describe(result)}`);
}
