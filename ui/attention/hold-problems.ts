import type { Problem } from '../../server/dashboard/protocol.js';

/** Time for which the order of problems stays. */
export const REORDER_MS = 10_000;

/** Returns the identity of a problem, which remains while its numbers change. */
export function problemKey({ kind, eventType, workflow, service, schedule }: Problem): string {
  return JSON.stringify([kind, eventType, workflow, service, schedule]);
}

/**
 * Returns problems in the order in which they are shown: those that are still there keep their place, solved ones leave,
 * and new ones come last.
 */
export function holdProblems(shown: readonly Problem[], fresh: readonly Problem[]): readonly Problem[] {
  const byKey = new Map(fresh.map((problem) => [problemKey(problem), problem]));
  const held = shown.flatMap((problem) => byKey.get(problemKey(problem)) ?? []);
  const known = new Set(held);
  return [...held, ...fresh.filter((problem) => !known.has(problem))];
}
