import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import type { TraceState } from '../requests/trace-bar.js';
import { turnFacts } from '../shared/turn-facts.js';

/** Turn of an agent, or call of a tool in a turn, as the page shows it. */
export interface TurnView {
  readonly name: string;
  readonly state: TraceState;
  /** Call of a tool. */
  readonly isCall: boolean;
  readonly facts: readonly string[];
}

/** Describes a step of an agent's run. */
export function describeTurn(step: StepIntrospection): TurnView {
  const path = step.name.split(' / ');
  const isToolError = step.turn?.isToolError === true;
  const suspended = step.status === 'waiting' && step.waitsFor !== undefined;
  return {
    name: path.at(-1) ?? step.name,
    state: isToolError ? 'failed' : suspended ? 'suspended' : step.status,
    isCall: path.length > 1,
    facts: turnFacts(step),
  };
}
