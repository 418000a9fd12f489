import { HubError, isFatal, messageOf, quote } from '../../errors.js';
import type { AgentRunError } from '../agent/agent-run-error.js';
import type { DebateResult } from './debate-result.js';

/** Participants of a debate failed, and fewer than two are left. */
export class TooFewSpeakersError extends HubError {
  /** Reason of each failure, in the order of the rounds. */
  readonly failures: readonly AgentRunError[];
  /** `true` if every failure is fatal, so that the same debate fails again. */
  readonly fatal: boolean;

  constructor(left: number, failures: readonly AgentRunError[]) {
    const reasons = failures.map(messageOf).join('; ');
    super(
      'ERR_TOO_FEW_SPEAKERS',
      `a debate needs two participants, but ${left === 0 ? 'none' : 'only one'} is left: ${reasons}`,
    );
    this.failures = failures;
    this.fatal = failures.every(isFatal);
  }
}

/** The debate of an event failed. */
export class DebateError extends HubError {
  /** Result of the debate, with its rounds so far and their tokens. */
  readonly result: DebateResult;
  /** `true` if a retry of the event is pointless, as for an {@link AgentRunError}. */
  readonly fatal: boolean;

  constructor(name: string, result: DebateResult) {
    const { error } = result;
    super('ERR_DEBATE', `debate ${quote(name)} failed: ${messageOf(error)}`, { cause: error });
    this.result = result;
    this.fatal = isFatal(error);
  }
}
