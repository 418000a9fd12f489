import { minuteMs } from '../limits.js';

/**
 * Time for which a connection counts as one of the last of its service after its end, while others continue: the
 * processes of a service end one after the other.
 */
export const formerConnectionMs: number = 10 * minuteMs;

/** Returns the description of a connection that has ended: with the property `isStopped`. */
export function stoppedDescription(description: string): string {
  return JSON.stringify({ ...parsed(description), isStopped: true });
}

/** Returns the service that a description names; `undefined` if it names none. */
export function describedService(description: string): string | undefined {
  const service = parsed(description)['service'];
  return typeof service === 'string' ? service : undefined;
}

/** Something else may have changed a stored description: what is no object has no properties. */
function parsed(description: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(description);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
