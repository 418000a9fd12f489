import type { TokenUsage } from '../model/token-usage.js';

/** Contribution of one participant to one round. */
export interface DebateContribution {
  agentName: string;
  /** The answer. If the participant failed, its last text. */
  output: string;
  /** Reason of the participant's failure. It takes part in no later round, and its output is shown to nobody. */
  error?: string;
}

/** One round of a debate: every participant contributes once. */
export interface DebateRound {
  /** Starts at 1. */
  roundNumber: number;
  /** Contributions in the order of the participants. */
  contributions: DebateContribution[];
}

/** Result of a debate. */
export interface DebateResult {
  topic: string;
  /** All rounds. If the debate failed, the rounds before the failure. */
  rounds: DebateRound[];
  /** The moderator's synthesis; `undefined` without a moderator. */
  synthesis: string | undefined;
  /** The synthesis, or without one the last round's contributions, each under its speaker's name. */
  output: string;
  /**
   * Number of characters that the texts lack, because the result of `asHandler()` would exceed
   * `maxPayloadBytes` of the hub. The longest texts are cut, and each of them ends with a note.
   */
  omittedChars?: number;
  /** Tokens of all model calls, delegates included. */
  tokenUsage: TokenUsage;
  /** `failed`: fewer than two participants were left, or the moderator or `stopWhen` failed; see `error`. */
  status: 'completed' | 'failed';
  /** Reason of the failure. Present only if the status is `failed`. */
  error?: Error;
}
