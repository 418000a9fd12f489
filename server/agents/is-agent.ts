import type { Agent } from './agent.js';

/** Tells agents from what untyped code may pass in place of one. */
export function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, run }: { [Key in keyof Agent]?: unknown } = value;
  return typeof name === 'string' && typeof run === 'function';
}
