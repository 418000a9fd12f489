import type { Recorded, SentText } from '../../hub/events/durable-place.js';
import type { Limit } from '../../hub/limits/limit.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import type { PaidAnswer } from '../model/model-answer.js';
import type { Part } from '../model/part.js';
import type { BudgetName, ReachedSpendLimit } from '../model/token-ledger.js';
import { type CallSpending, isSameUsage, type TokenUsage } from '../model/token-usage.js';
import type { ExecutedCall } from '../tools/tool-executor.js';

/**
 * Decision about a call before its execution: it is refused, has other arguments, or has a result already. `null`: it is
 * executed as it is.
 */
export type CallDecision =
  | { readonly refuse: string }
  | { readonly arguments: string }
  | Pick<RecordedCall, 'content' | 'isJson' | 'parts'>
  | null;

/** Answer of the model with everything that the rest of its turn depends on. */
export interface TurnAnswer {
  readonly answer: PaidAnswer;
  /** Calls to execute, with ids that are unique in the transcript. */
  readonly calls: ToolCall[];
  /** Positions of the calls that need approval. */
  readonly asks: readonly number[];
  /** Decisions on the calls; absent if nothing decided. */
  readonly decisions?: readonly CallDecision[] | undefined;
  /** Reason why the answer must not be used. */
  readonly refusal?: string | undefined;
  /** The run has spent more than its budget. */
  readonly isOverBudget: boolean;
  /** Index of the provider that answered: the run goes on with it. */
  readonly provider: number;
}

/** Facts of a turn beside its answer. */
interface RecordedFacts {
  /** Tokens of the turn, those of failed calls included. */
  readonly spent: TokenUsage;
  /** Texts that were sent to the run, which the turn read before its call. */
  readonly texts?: readonly SentText[] | undefined;
  /** Name of each call's step: a model may call a tool that does not exist. */
  readonly steps: readonly string[];
  /**
   * Positions of the calls whose start is recorded, because they must not run twice or wait for an approval: one of
   * them that has no start has not begun, whatever other code says of its tool.
   */
  readonly marked: readonly number[];
  /** Epoch milliseconds at which the run started. Present in the first turn. */
  readonly startedAt?: number | undefined;
}

/** Recorded {@link TurnAnswer}. */
export interface RecordedAnswer extends TurnAnswer, RecordedFacts {}

/** A {@link RecordedAnswer} as it is recorded: without what follows from its answer. */
export type CompactAnswer = Pick<RecordedAnswer, 'answer'> & {
  readonly [Key in keyof RecordedAnswer]?: RecordedAnswer[Key] | undefined;
};

/** Note on a turn whose call did not fit into a budget. */
export interface LimitedTurn {
  readonly budget: BudgetName;
  readonly spendLimit?: ReachedSpendLimit;
}

/** Returns the answer without what is usually the same. Fields that are `undefined` are not recorded. */
export function toCompactAnswer(asked: TurnAnswer, facts: RecordedFacts): CompactAnswer {
  // No spread and no rest of the fields, here and below: they take longer than the turn's record.
  const { answer, calls, asks, decisions, refusal, isOverBudget, provider } = asked;
  const { spent, texts, steps, marked, startedAt } = facts;
  const hasOwnIds = calls.length === answer.toolCalls.length && calls.every((call, i) => call === answer.toolCalls[i]);
  return {
    answer,
    calls: hasOwnIds ? undefined : calls,
    asks: asks.length === 0 ? undefined : asks,
    decisions,
    refusal,
    isOverBudget: isOverBudget ? true : undefined,
    provider: provider === 0 ? undefined : provider,
    spent: isSameUsage(spent, answer.usage) ? undefined : spent,
    texts: texts === undefined || texts.length === 0 ? undefined : texts,
    steps: steps.every((step, i) => step === calls[i]?.name) ? undefined : steps,
    marked: marked.length === 0 ? undefined : marked,
    startedAt,
  };
}

/** Returns what {@link toCompactAnswer} was called with. */
export function toRecordedAnswer(compact: CompactAnswer): RecordedAnswer {
  const { answer, asks = none, isOverBudget = false, provider = 0, marked = none, startedAt } = compact;
  const { calls = [...answer.toolCalls], spent = answer.usage } = compact;
  const { steps = calls.map(({ name }) => name), decisions, refusal, texts } = compact;
  return { answer, calls, asks, decisions, refusal, isOverBudget, provider, spent, texts, steps, marked, startedAt };
}

/** Returns `true` unless a custom provider put something into the answer that may not be JSON. */
export function isJsonAnswer({ finishReason, providerMetadata, sources, vendorCalls, usage }: PaidAnswer): boolean {
  const { estimated } = usage;
  return (
    providerMetadata === undefined &&
    sources === undefined &&
    vendorCalls === undefined &&
    typeof finishReason === 'string' &&
    (estimated === undefined || typeof estimated === 'boolean')
  );
}

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
  /** Limit of the model calls. */
  readonly limit: Limit | undefined;
  /** Budget that did not cover the last call, and the spending limit if it is one. */
  readonly refused: LimitedTurn | undefined;
  /** Takes the note on a call that did not fit into account. */
  replayRefused(refused: LimitedTurn): void;
  /** Adds texts that were sent to the run. */
  receive(texts: readonly SentText[]): void;
  /** Makes a model call. Resolves with `undefined` if it does not fit into the budget. */
  ask(): Promise<TurnAnswer | undefined>;
  /** Takes a recorded answer into account. @param spent tokens of its turn */
  replay(recorded: TurnAnswer, spent: TokenUsage): void;
  /** Returns `true` if a tool exists. */
  isTool(name: string): boolean;
  /** Returns `true` unless an interrupted call of the tool must not be executed again. */
  isRetryable(name: string): boolean;
}

const unknownTool = 'unknown tool';
const noSteps: readonly string[] = [];
const none: readonly number[] = [];

/** Returns the positions of the calls of an answer whose start is recorded. */
export function markedCalls({ calls, asks }: TurnAnswer, source: AnswerSource): readonly number[] {
  const isMarked = (index: number): boolean =>
    asks.includes(index) || !source.isRetryable(calls[index]?.name ?? unknownTool);
  return calls.some((_, index) => isMarked(index)) ? [...calls.keys()].filter(isMarked) : none;
}

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

/** Recorded result of a tool call: what the model was sent. */
export interface RecordedCall {
  readonly content: string;
  /** Parts of a result with media. */
  readonly parts?: Part[];
  /** The content is the whole result as JSON. */
  readonly isJson?: true;
  readonly error?: string;
  /** Nobody approved the call. */
  readonly isDenied?: true;
  /** Agent that the call handed the conversation over to. */
  readonly handoff?: string;
  readonly durationMs: number;
  /** Spending of the agents that the call ran. */
  readonly spent?: CallSpending;
}

/** Returns what is recorded of an executed call. @param spent spending of the agents that it ran */
export function toRecorded(
  { result: { error, parts, durationMs }, content, isJson, isDenied, handoff }: ExecutedCall,
  spent: CallSpending,
): RecordedCall {
  const recorded: { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] } = { content, durationMs };
  if (error !== undefined) recorded.error = error;
  else if (isJson === true) recorded.isJson = isJson;
  if (parts !== undefined) recorded.parts = parts;
  if (isDenied === true) recorded.isDenied = isDenied;
  if (handoff !== undefined) recorded.handoff = handoff;
  if (spent.totalTokens > 0 || spent.runs !== undefined) recorded.spent = spent;
  return recorded;
}

/** Returns the executed call of a record. What an earlier delivery spent is not counted yet. */
export function toExecuted({ value: recorded, isReplayed }: Recorded<RecordedCall>, call: ToolCall): ExecutedCall {
  const { content, isJson: isValue, parts, error, isDenied, handoff, durationMs, spent } = recorded;
  const { id, name } = call;
  const value: unknown = error !== undefined ? null : isValue === true ? JSON.parse(content) : content;
  const result: ToolResult =
    error === undefined
      ? { toolCallId: id, name, result: value, durationMs }
      : { toolCallId: id, name, result: value, error, durationMs };
  if (parts !== undefined) result.parts = parts;
  const executed: { -readonly [Key in keyof ExecutedCall]: ExecutedCall[Key] } = {
    result,
    content,
    isInterrupted: false,
  };
  if (isDenied === true) executed.isDenied = isDenied;
  if (handoff !== undefined) executed.handoff = handoff;
  return isReplayed && spent !== undefined ? { ...executed, spentBefore: spent } : executed;
}
