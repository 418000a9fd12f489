import type { ToolCall } from '../model/message.js';
import { isSameUsage, type TokenUsage } from '../model/token-usage.js';
import type { PaidAnswer } from './calling/model-caller.js';

/** Answer of the model with everything that the rest of its turn depends on. */
export interface TurnAnswer {
  readonly answer: PaidAnswer;
  /** Calls to execute, with ids that are unique in the transcript. */
  readonly calls: ToolCall[];
  /** Positions of the calls that need approval. */
  readonly asks: readonly number[];
  /** The run has spent more than its budget. */
  readonly isOverBudget: boolean;
}

/** Recorded {@link TurnAnswer}. */
export interface RecordedAnswer extends TurnAnswer {
  /** Tokens of the turn, those of failed calls included. */
  readonly spent: TokenUsage;
  /** Name of each call's step: a model may call a tool that does not exist. */
  readonly steps: readonly string[];
  /** Epoch milliseconds at which the run started. Present in the first turn. */
  readonly startedAt?: number | undefined;
}

/** A {@link RecordedAnswer} as it is recorded: without what follows from its answer. */
export type CompactAnswer = Pick<RecordedAnswer, 'answer'> & {
  readonly [Key in keyof RecordedAnswer]?: RecordedAnswer[Key] | undefined;
};

/** Returns the answer without what is usually the same. Fields that are `undefined` are not recorded. */
export function compact({ answer, calls, asks, isOverBudget, spent, steps, startedAt }: RecordedAnswer): CompactAnswer {
  const hasOwnIds = calls.length === answer.toolCalls.length && calls.every((call, i) => call === answer.toolCalls[i]);
  return {
    answer,
    calls: hasOwnIds ? undefined : calls,
    asks: asks.length === 0 ? undefined : asks,
    isOverBudget: isOverBudget ? true : undefined,
    spent: isSameUsage(spent, answer.usage) ? undefined : spent,
    steps: steps.every((step, i) => step === calls[i]?.name) ? undefined : steps,
    startedAt,
  };
}

/** Returns the answer that {@link compact} was called with. */
export function expand({ answer, startedAt, ...parts }: CompactAnswer): RecordedAnswer {
  const { calls = [...answer.toolCalls], asks = [], isOverBudget = false, spent = answer.usage } = parts;
  return { answer, calls, asks, isOverBudget, spent, steps: parts.steps ?? calls.map(({ name }) => name), startedAt };
}

/** Returns `true` unless a custom provider put something into the answer that may not be JSON. */
export function isJson({ finishReason, providerMetadata, usage }: PaidAnswer): boolean {
  const { estimated } = usage;
  return (
    providerMetadata === undefined &&
    typeof finishReason === 'string' &&
    (estimated === undefined || typeof estimated === 'boolean')
  );
}
