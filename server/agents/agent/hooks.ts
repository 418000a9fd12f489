import { InvalidOptionError, quote } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Message, ToolCall, ToolDefinition } from '../model/message.js';
import { type PaidAnswer, readAnswer } from '../model/model-answer.js';
import {
  checkModelOptions,
  type FinishReason,
  type ModelOptions,
  type ModelProvider,
} from '../model/model-provider.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentContext, ToolContext } from './agent-context.js';

/** Turn that is about to start. */
export interface TurnStart {
  /** Number of the turn in its run, from 1. */
  readonly turn: number;
  /** Messages that the model is about to receive. The run's own list: copy it before you change or keep it. */
  readonly messages: readonly Message[];
  /** Tokens of the run so far, delegates included. */
  readonly usage: Readonly<TokenUsage>;
  /** Context of the run. */
  readonly ctx: AgentContext;
}

/** Settings of the model for one turn. */
export type TurnModel = Partial<Omit<ModelOptions, 'tools' | 'toolChoice' | 'responseFormat' | 'signal'>>;

/** Changes for one turn. What is absent stays as the agent has it. */
export interface TurnPlan {
  /**
   * Settings of the model, over those of the agent. They do not apply once the run has changed to another provider of a
   * `fallbackProvider`, unless `provider` is set.
   */
  readonly model?: TurnModel;
  /** Provider of the turn. After a failure that persists, the turn continues with the agent's. */
  readonly provider?: ModelProvider;
  /** Names of the tools that the model is offered. Its calls of others are refused. */
  readonly tools?: readonly string[];
  /** Tools that the model must, may or must not call, whatever it has called before. */
  readonly toolChoice?: NonNullable<ModelOptions['toolChoice']>;
  /** System prompt of the turn, in place of the agent's. The transcript keeps the agent's. */
  readonly instructions?: string;
}

/** Tool call that is about to be executed, or to ask for approval. */
export interface ToolStart {
  /** Number of the turn in its run, from 1. */
  readonly turn: number;
  /** Name of the tool. */
  readonly tool: string;
  /** Arguments, which match the tool's schema. */
  readonly input: unknown;
  /** Context of the call. */
  readonly ctx: ToolContext;
}

/**
 * Decision of `beforeTool`. `refuse`: the call is not executed, and the model receives the reason as its error. `input`:
 * the tool receives these arguments, which its schema checks. `result`: the model receives this result, and the tool is
 * not executed.
 */
export type ToolDecision =
  | { readonly refuse: string; readonly input?: never; readonly result?: never }
  | { readonly input: unknown; readonly refuse?: never; readonly result?: never }
  | { readonly result: unknown; readonly refuse?: never; readonly input?: never };

/** Answer of the model that is about to be used. */
export interface AnswerStart extends TurnStart {
  /** Text of the answer. */
  readonly content: string;
  /** Calls that the model requests. */
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason;
}

/** Decision of `afterModel`. What is absent stays as the model has it. */
export interface AnswerDecision {
  /** Text in place of the model's, in the transcript, the record, the memory and the result. */
  readonly content?: string;
  /** Calls in place of the model's. */
  readonly toolCalls?: readonly ToolCall[];
  /**
   * Reason why the answer must not be used: the run does not end with it, its calls are not executed, and the model
   * receives the reason in its next turn.
   */
  readonly refuse?: string;
}

/** Result of a hook: a decision, or nothing. */
export type HookResult<T> = T | undefined | Promise<T | undefined>;

/** Hooks of an agent. */
export interface AgentHooks {
  readonly prepareTurn?: ((start: TurnStart) => HookResult<TurnPlan>) | undefined;
  readonly beforeTool?: ((start: ToolStart) => HookResult<ToolDecision>) | undefined;
  readonly afterModel?: ((start: AnswerStart) => HookResult<AnswerDecision>) | undefined;
}

/** Answer after `afterModel`. */
export interface ReviewedAnswer {
  readonly answer: PaidAnswer;
  /** Reason why the answer must not be used. */
  readonly refusal?: string;
}

const planNames: readonly string[] = ['model', 'provider', 'tools', 'toolChoice', 'instructions'];

/**
 * Checks the result of `prepareTurn`.
 *
 * @param model settings of the agent's model
 * @param definitions tools of the turn
 * @throws {InvalidOptionError}
 */
export function checkPlan(
  plan: TurnPlan,
  agentName: string,
  model: ModelOptions,
  definitions: readonly ToolDefinition[],
): void {
  const owner = `the result of prepareTurn of agent ${quote(agentName)}`;
  const check = new OptionChecker(plan, planNames, owner);
  const { provider, tools, toolChoice, instructions } = plan;
  const settings: ModelOptions = { model: model.model, ...plan.model };
  const noTools = 'omitted: set tools and toolChoice beside model';
  check.that(
    settings.tools === undefined && settings.toolChoice === undefined,
    'model',
    noTools,
    Object.keys(settings),
  );
  checkModelOptions(toolChoice === undefined ? settings : { ...settings, toolChoice }, owner, true);
  check.methods('provider', provider, ['chat']);
  check.string('instructions', instructions);
  check.that(tools === undefined || Array.isArray(tools), 'tools', 'an array of names', tools);
  const names = definitions.map(({ name }) => name);
  const expected = names.length === 0 ? 'omitted: the agent has no tools' : `of ${names.join(', ')}`;
  for (const name of tools ?? []) check.that(names.includes(name), 'tools', expected, name);
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : undefined;
  const isOffered = chosen === undefined || (tools ?? names).includes(chosen);
  check.that(isOffered, 'toolChoice.tool', 'a tool of the turn', chosen);
}

/**
 * Returns the one decision that `beforeTool` took; `undefined` if it took none.
 *
 * @throws {InvalidOptionError}
 */
export function checkToolDecision(decision: ToolDecision | undefined, agentName: string): ToolDecision | undefined {
  if (decision === undefined || decision === null) return undefined;
  const owner = `the result of beforeTool of agent ${quote(agentName)}`;
  const check = new OptionChecker(decision, ['refuse', 'input', 'result'], owner);
  check.string('refuse', decision.refuse);
  if (Object.keys(decision).length > 1) {
    throw new InvalidOptionError(owner, 'one of refuse, input and result', Object.keys(decision));
  }
  return Object.keys(decision).length === 0 ? undefined : decision;
}

/**
 * Applies the decision of `afterModel`.
 *
 * @throws {InvalidOptionError}
 * @throws {InvalidAnswerError} if the calls are not tool calls
 */
export function applyAnswerDecision(
  answer: PaidAnswer,
  decision: AnswerDecision | undefined,
  agentName: string,
): ReviewedAnswer {
  if (decision === undefined || decision === null) return { answer };
  const owner = `the result of afterModel of agent ${quote(agentName)}`;
  const check = new OptionChecker(decision, ['content', 'toolCalls', 'refuse'], owner);
  const { content, toolCalls, refuse } = decision;
  check.string('content', content);
  check.string('refuse', refuse);
  const refusal = refuse === undefined ? {} : { refusal: refuse };
  if (content === undefined && toolCalls === undefined) return { answer, ...refusal };
  // The vendor's metadata repeat what the answer no longer says.
  const { providerMetadata: _replaced, ...rest } = answer;
  const replaced = readAnswer({ ...rest, ...(content !== undefined && { content }), ...(toolCalls && { toolCalls }) });
  return { answer: { ...replaced, usage: answer.usage }, ...refusal };
}

/** Returns the note for the model about an answer that was refused. */
export function refusalNote(reason: string): string {
  return `Your last answer was not accepted: ${reason}`;
}
