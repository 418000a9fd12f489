import type { ToolCall, ToolDefinition } from '../model/message.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { TurnAnswer } from './recorded-answer.js';

/**
 * `isReplayed`: an earlier delivery recorded the answer, perhaps with other tools. `isOld`: in addition, it records no
 * failure after the answer.
 */
export type AskedTurn = TurnAnswer & { readonly isReplayed?: boolean; readonly isOld?: boolean };

/** Run whose answers are recorded. */
export interface AnswerSource {
  /** Tokens of the run so far. */
  readonly usage: TokenUsage;
  /** Name of the model that answered last. */
  readonly model: string;
  /** Makes a model call. Resolves with `undefined` if it does not fit into the budget. */
  ask(tools: ToolDefinition[]): Promise<TurnAnswer | undefined>;
  /** Takes a recorded answer into account. @param spent tokens of its turn */
  replay(recorded: TurnAnswer, spent: TokenUsage): void;
  /** Returns `true` if a tool exists. */
  isTool(name: string): boolean;
}

const unknownTool = 'unknown tool';
const noSteps: readonly string[] = [];

/** Returns a name per call of an answer: that of its tool, with an ordinal if the turn calls the tool more than once. */
export function stepNames(calls: readonly ToolCall[], source: AnswerSource): readonly string[] {
  const [first] = calls;
  if (first === undefined) return noSteps;
  if (calls.length === 1) return [source.isTool(first.name) ? first.name : unknownTool];
  const uses = new Map<string, number>();
  return calls.map(({ name }) => {
    const known = source.isTool(name) ? name : unknownTool;
    const use = (uses.get(known) ?? 0) + 1;
    uses.set(known, use);
    return use === 1 ? known : `${known} #${use}`;
  });
}
