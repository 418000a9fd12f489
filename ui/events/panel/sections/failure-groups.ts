import type { FailureRecord } from '../../../../server/dashboard/protocol.js';

/** Failures with the same name and message, apart from digits. */
export interface FailureGroup {
  readonly name: string;
  /** Message of the newest failure. */
  readonly message: string;
  /** Newest first. */
  readonly failures: readonly FailureRecord[];
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Matches ids and numbers, in which messages of one error differ. */
const VARIABLE = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|\d+/gi;

/** Returns a message with its ids and numbers masked. */
export function maskDigits(message: string): string {
  return message.replace(VARIABLE, '#');
}

/**
 * Groups failures by name and masked message, the largest group first.
 *
 * @param failures newest first
 */
export function groupFailures(failures: readonly FailureRecord[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureRecord[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.name, maskDigits(failure.message)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups.values()]
    .map((members) => {
      const times = members.map(({ at }) => at);
      const [newest] = members;
      return {
        name: newest?.name ?? '',
        message: newest?.message ?? '',
        failures: members,
        firstAt: Math.min(...times),
        lastAt: Math.max(...times),
      };
    })
    .sort((a, b) => b.failures.length - a.failures.length || b.lastAt - a.lastAt);
}
