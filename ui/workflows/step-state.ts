import type { RunIntrospection, StepIntrospection, StepStatus } from '../../server/dashboard/protocol.js';

/** State of a run or of a step on the page. A suspended step waits for a time, an event or another run. */
export type State = StepStatus | RunIntrospection['status'];

/** Returns the state of a step. */
export function stepState({ status, waitsFor }: StepIntrospection): State {
  return status === 'waiting' && waitsFor !== undefined ? 'suspended' : status;
}
