import { InvalidOptionError, quote } from '../../errors.js';
import type { AbortableWaits } from '../abortable.js';
import type { AgentContext } from '../agent/agent-context.js';
import { applyAnswerDecision, checkPlan, type ReviewedAnswer, type TurnPlan, type TurnStart } from '../agent/hooks.js';
import type { AgentSpec } from '../agent-spec.js';
import type { Message, ToolDefinition } from '../model/message.js';
import type { PaidAnswer } from '../model/model-answer.js';
import { withFormat } from '../model/output-schema.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { CallDecision } from './recorded-turn.js';
import type { Transcript } from './transcript.js';

/** Run whose turns {@link TurnHooks} prepares. */
export interface HookedRun {
  readonly agent: AgentSpec;
  readonly ctx: AgentContext;
  readonly waits: AbortableWaits;
  readonly transcript: Transcript;
  readonly ledger: TokenLedger;
}

/** Model call that `prepareTurn` prepared. */
export interface PreparedCall {
  readonly messages: Message[];
  readonly inputIndex: number;
  readonly tools: ToolDefinition[];
  readonly plan: TurnPlan | undefined;
}

/** Calls the hooks of an agent around the turns of one run. */
export class TurnHooks {
  readonly #run: HookedRun;

  constructor(run: HookedRun) {
    this.#run = run;
  }

  /** Returns the tools of the turn; `undefined` if those of the agent are no function. */
  async tools(): Promise<ToolRegistry | undefined> {
    const { agent } = this.#run;
    return agent.turnTools && this.#wait(agent.turnTools.of(this.#start()));
  }

  /** Returns the system prompt that a function of the agent returns. @throws {InvalidOptionError} */
  async systemPrompt(create: (ctx: AgentContext) => string | Promise<string>): Promise<string> {
    const { agent, ctx } = this.#run;
    const text: unknown = await this.#wait(create(ctx));
    if (typeof text === 'string') return this.#formatted(text, agent.hasJsonMode);
    throw new InvalidOptionError(`the result of systemPrompt of agent ${quote(agent.name)}`, 'a string', typeof text);
  }

  /**
   * Prepares the model call of a turn.
   *
   * @param definitions tools of the turn
   * @param isLast the call offers no tools
   * @throws {InvalidOptionError}
   */
  async prepare(definitions: ToolDefinition[], isLast: boolean): Promise<PreparedCall> {
    const { agent, transcript } = this.#run;
    const { messages, inputIndex } = transcript;
    const start = this.#start();
    const plan = await this.#wait(agent.hooks.prepareTurn?.(start));
    if (plan === undefined) return { messages, inputIndex, tools: isLast ? [] : definitions, plan };
    checkPlan(plan, agent.name, agent.model, definitions);
    const { tools: names } = plan;
    const offered = names === undefined ? definitions : definitions.filter(({ name }) => names.includes(name));
    const sent = this.#withInstructions(messages, plan);
    const tools = isLast ? [] : offered;
    return { messages: sent, inputIndex: inputIndex + sent.length - messages.length, tools, plan };
  }

  /** Lets `afterModel` decide about an answer. @throws {InvalidOptionError | InvalidAnswerError} */
  async review(answer: PaidAnswer): Promise<ReviewedAnswer> {
    const { agent } = this.#run;
    const { afterModel } = agent.hooks;
    if (afterModel === undefined) return { answer };
    const { content, toolCalls, finishReason } = answer;
    const decided = await this.#wait(afterModel({ ...this.#start(), content, toolCalls, finishReason }));
    return applyAnswerDecision(answer, decided, agent.name);
  }

  #start(): TurnStart {
    const { ctx, ledger, transcript } = this.#run;
    return { turn: transcript.turns, messages: transcript.messages, usage: { ...ledger.usage }, ctx };
  }

  #withInstructions(messages: Message[], { instructions, provider }: TurnPlan): Message[] {
    const { agent } = this.#run;
    const [first] = messages;
    const current = first?.role === 'system' ? first.content : '';
    const hasJsonMode = provider === undefined ? agent.hasJsonMode : provider.jsonMode === true;
    // The agent's prompt has the format of the answer unless its own provider sends it.
    const isComplete = instructions === undefined && (hasJsonMode || !agent.hasJsonMode);
    if (isComplete) return messages;
    const content = this.#formatted(instructions ?? current, hasJsonMode);
    const rest = first?.role === 'system' ? messages.slice(1) : messages;
    return content === '' ? [...rest] : [{ role: 'system', content }, ...rest];
  }

  #formatted(text: string, hasJsonMode: boolean): string {
    const { output } = this.#run.agent;
    return output === undefined || hasJsonMode ? text : withFormat(text, output.schema);
  }

  /** Settles as a hook does, or rejects with the reason of an abort. */
  async #wait<T>(result: T | PromiseLike<T>): Promise<T> {
    return this.#run.waits.wait(Promise.resolve(result));
  }
}

/** Returns the decisions on calls without those of tools that the model was not offered. */
export function refuseUnoffered(
  decisions: readonly CallDecision[] | undefined,
  calls: readonly { readonly name: string }[],
  tools: readonly ToolDefinition[],
  isTool: (name: string) => boolean,
): readonly CallDecision[] | undefined {
  const isRefused = ({ name }: { readonly name: string }): boolean =>
    isTool(name) && !tools.some((tool) => tool.name === name);
  if (!calls.some(isRefused)) return decisions;
  const names = tools.map(({ name }) => name).join(', ');
  const available = names === '' ? 'no tool can be called in this turn' : `available in this turn: ${names}`;
  return calls.map((call, index) =>
    isRefused(call) ? { refuse: `there is no tool ${quote(call.name)}; ${available}` } : (decisions?.[index] ?? null),
  );
}
