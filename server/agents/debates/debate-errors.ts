import { HubError, isFatal, messageOf, quote } from '../../errors.js';
import { AgentRunError } from '../agent/agent-run-error.js';
import type { DebateResult } from './debate-result.js';

/** Participants of a debate failed, and fewer than two are left. */
export class TooFewSpeakersError extends HubError {
  /** Reason of each failure, in the order of the rounds. Not enumerable, so that no logger writes the messages. */
  declare readonly failures: readonly AgentRunError[];
  /** `true` if every failure is fatal, so that the same debate fails again. */
  readonly fatal: boolean;

  /** Longest delay that a vendor requests before the next attempt, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(left: number, failures: readonly AgentRunError[]) {
    const messageWith = (reasons: readonly string[]): string =>
      `a debate needs two participants, but ${left === 0 ? 'none' : 'only one'} is left: ${reasons.join('; ')}`;
    super('ERR_TOO_FEW_SPEAKERS', messageWith(failures.map(messageOf)), {
      publicMessage: messageWith(failures.map(({ publicMessage }) => publicMessage)),
    });
    Object.defineProperty(this, 'failures', { value: failures });
    this.fatal = failures.every(isFatal);
    const delays = failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    if (delays.length > 0) this.retryAfterMs = Math.max(...delays);
  }
}

/** The debate of an event failed. */
export class DebateError extends HubError {
  /** Result of the debate, with its rounds and tokens. Not enumerable, so that no logger writes the contributions. */
  declare readonly result: DebateResult;
  /** `true` if a retry of the event is pointless, as for an {@link AgentRunError}. */
  readonly fatal: boolean;

  /** Delay that a vendor requests before the next attempt, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(name: string, result: DebateResult) {
    const { error } = result;
    super('ERR_DEBATE', `debate ${quote(name)} failed: ${messageOf(error)}`, { cause: error });
    Object.defineProperty(this, 'result', { value: result });
    this.fatal = isFatal(error);
    const delayed =
      error instanceof TooFewSpeakersError || error instanceof AgentRunError ? error.retryAfterMs : undefined;
    if (delayed !== undefined) this.retryAfterMs = delayed;
  }
}
