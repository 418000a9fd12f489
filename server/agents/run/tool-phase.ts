import { messageOf, quote } from '../../errors.js';
import { limitsOf } from '../../hub/events/attempt-ctx.js';
import type { AbortableWaits } from '../abortable.js';
import {
  type AgentContext,
  type CallPlace,
  contextOfCall,
  handlerContextOf,
  lineageOf,
} from '../agent/agent-context.js';
import type { OnAgentEvent } from '../agent/agent-stream.js';
import { type ApprovalDecision, type Approver, readDecision, refusalOf, tooLargeToAsk } from '../agent/approval.js';
import { type AgentHooks, checkToolDecision } from '../agent/hooks.js';
import type { AgentSpec } from '../agent-spec.js';
import { InvalidToolCallError, StuckLoopError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { isDelegateTool, isHandoffTool, replaySpending } from '../multi-agent/delegation.js';
import {
  changed,
  type ExecuteCall,
  type ExecutedCall,
  nobodyDecides,
  parseArguments,
  refused,
  ToolExecutor,
  unknownEffect,
} from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import { type CallDecision, toExecuted } from './recorded-turn.js';
import type { CallContent, Transcript } from './transcript.js';
import type { TurnRecorder } from './turn-recorder.js';

const repeatsBeforeNote = 3;

const handedOver = 'not executed: the first handoff of a turn is the only one';

/** Run whose calls a {@link ToolPhase} executes. */
export interface ToolPhaseOptions {
  readonly agent: AgentSpec;
  readonly tools: ToolRegistry;
  readonly transcript: Transcript;
  readonly ctx: AgentContext;
  readonly waits: AbortableWaits;
  /** Present if the run is durable. */
  readonly recorder: TurnRecorder | undefined;
  readonly approver: Approver | undefined;
  /** Present if the run is streamed. */
  readonly onEvent: OnAgentEvent | undefined;
  /** Maximum number of calls of the run. */
  readonly maxToolCalls: number;
  /** Results of the agents that had the conversation before. */
  readonly results: ToolResult[];
}

/** Calls of one turn. */
export interface TurnCalls {
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  /** Positions of the calls that need approval. */
  readonly asks: readonly number[];
  /** An earlier delivery recorded the calls, perhaps with other tools. */
  readonly isReplayed: boolean;
  /** `afterModel` refused the answer: readers see none of its calls. */
  readonly isRefused?: boolean;
  /** Decisions on the calls; absent if nothing decided. */
  readonly decisions?: readonly CallDecision[] | undefined;
}

/** Returns why a call must not be executed, if it must not. */
type RefusalOf = (call: ToolCall, index: number) => string | undefined;

type AnsweredCall = ExecutedCall & Pick<CallContent, 'note'>;
const none: readonly number[] = [];

/** Second half of a run's turns: executes or refuses the tool calls, and adds their results to the transcript. */
export class ToolPhase {
  /** One result per call so far, by turn and in the order of the calls. */
  readonly results: ToolResult[];
  /** Agent that the last turn hands the conversation over to. */
  handoff: string | undefined;
  readonly #options: ToolPhaseOptions;
  readonly #executor: ToolExecutor;
  #tools: ToolRegistry;
  readonly #repeatedCalls = new RepeatedCallDetector();
  /** By id of the call: the error of a tool that refused the arguments when it was to say if they need approval. */
  #invalid: Map<string, string> | undefined;

  constructor(options: ToolPhaseOptions) {
    const { maxParallelToolCalls, maxToolResultChars, clock } = options.agent;
    this.#options = options;
    this.results = options.results;
    this.#tools = options.tools;
    this.#executor = new ToolExecutor(options.tools, {
      maxParallel: maxParallelToolCalls,
      maxResultChars: maxToolResultChars,
      clock,
      // The steps of a durable run wait for their limits themselves.
      ...(options.recorder === undefined && { limits: limitsOf(handlerContextOf(options.ctx)) }),
    });
  }

  /** Executes calls with these tools from now on. */
  useTools(tools: ToolRegistry): void {
    this.#tools = tools;
    this.#executor.useTools(tools);
  }

  /** Counts the repetitions of an earlier attempt's turns. */
  resume(turns: readonly (readonly ToolCall[])[]): void {
    for (const calls of turns) this.#repeatedCalls.count(calls);
  }

  /** Executes the calls of an interrupted turn again, with the same keys. */
  async repeat(calls: readonly ToolCall[], turn: number): Promise<void> {
    const isRepeatable = ({ name }: ToolCall): boolean => this.#tools.get(name)?.retryable !== false;
    const reason = `interrupted: ${unknownEffect}, and must not be repeated`;
    const decisions = await this.decisionsOn(turn, calls);
    const asks = await this.asksOf(decidedCalls(calls, decisions), isExecuted(decisions));
    await this.#answer(
      { turn, calls, asks, decisions, isReplayed: false },
      (call) => (isRepeatable(call) ? undefined : reason),
      none,
    );
  }

  /** Answers the calls of an answer that was refused before its turn was interrupted. */
  refuse(calls: readonly ToolCall[], turn: number, refusal: string): Promise<void> {
    return this.#answer({ turn, calls, asks: none, isReplayed: false, isRefused: true }, () => refusal, none);
  }

  /**
   * Answers every call of the last message of the transcript.
   *
   * @param refusal reason why the calls must not be executed, if there is one
   * @throws {StuckLoopError} after all calls are answered, if one of them was requested too often
   */
  run(turn: TurnCalls, refusal: string | undefined): Promise<void> {
    const { calls } = turn;
    const { agent, maxToolCalls } = this.#options;
    const { maxRepeats } = agent;
    const repeats = this.#repeatedCalls.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= maxRepeats);
    const allowed = maxToolCalls - (this.#options.transcript.toolCalls - calls.length);
    const refusalOf = (_call: ToolCall, index: number): string | undefined => {
      if (stuck !== undefined) return 'not executed: the same call was made in too many turns';
      return refusal ?? (index < allowed ? undefined : `not executed: the run reached maxToolCalls (${maxToolCalls})`);
    };
    const answered = this.#answer(turn, refusalOf, repeats);
    if (stuck === undefined) return answered;
    return answered.then(() => {
      throw new StuckLoopError(stuck.name, maxRepeats, this.#tools.get(stuck.name) !== undefined);
    });
  }

  /** Returns the positions of the calls that need approval, of all or of those that `isMeant` selects. */
  async asksOf(
    calls: readonly ToolCall[],
    isMeant: (index: number) => boolean = () => true,
  ): Promise<readonly number[]> {
    if (!this.#tools.asksForApproval) return none;
    const needs = await Promise.all(calls.map((call, index) => isMeant(index) && this.#needsApproval(call)));
    return calls.flatMap((_, index) => (needs[index] === true ? [index] : []));
  }

  /** Asks `beforeTool` about the calls, or about those that `isMeant` selects. Returns `undefined` without such a hook. */
  async decisionsOn(
    turn: number,
    calls: readonly ToolCall[],
    isMeant: (index: number) => boolean = () => true,
  ): Promise<readonly CallDecision[] | undefined> {
    const { beforeTool } = this.#options.agent.hooks;
    if (beforeTool === undefined || calls.length === 0) return undefined;
    const decide = (call: ToolCall, index: number): CallDecision | Promise<CallDecision> =>
      isMeant(index) ? this.#decisionOn(beforeTool, turn, call) : null;
    return Promise.all(calls.map(decide));
  }

  async #decisionOn(
    beforeTool: NonNullable<AgentHooks['beforeTool']>,
    turn: number,
    call: ToolCall,
  ): Promise<CallDecision> {
    const { agent, ctx, waits } = this.#options;
    const prepared = this.#prepared(call);
    if (prepared === undefined) return null;
    const { tool, input } = prepared;
    try {
      const own = contextOfCall(ctx, call);
      const decided = await waits.wait(Promise.resolve(beforeTool({ turn, tool: tool.name, input, ctx: own })));
      const decision = checkToolDecision(decided, agent.name);
      if (decision === undefined) return null;
      if (decision.refuse !== undefined) return { refuse: decision.refuse };
      if ('result' in decision) return await this.#executor.contentOf(decision.result, tool.name);
      const replaced = { ...call, arguments: JSON.stringify(decision.input) };
      this.#executor.prepare(replaced);
      return { arguments: replaced.arguments };
    } catch (err) {
      if (waits.signal?.aborted) throw err;
      ctx.logger.error(
        { err },
        `beforeTool of agent ${quote(agent.name)} failed, so the call of ${quote(tool.name)} is refused`,
      );
      return { refuse: `not executed: the check of the call failed: ${messageOf(err)}` };
    }
  }

  /** Returns the tool of a call, and its input. `undefined` if they are wrong: the model receives the error instead. */
  #prepared(call: ToolCall): ReturnType<ToolExecutor['prepare']> | undefined {
    try {
      return this.#executor.prepare(call);
    } catch {
      return undefined;
    }
  }

  async #needsApproval(call: ToolCall): Promise<boolean> {
    const { ctx } = this.#options;
    if (!this.#tools.get(call.name)?.needsApproval) return false;
    const prepared = this.#prepared(call);
    if (prepared === undefined) return false;
    const { tool, input } = prepared;
    if (typeof tool.needsApproval !== 'function') return true;
    try {
      // Whatever is not `false` needs approval.
      return (await tool.needsApproval(input, ctx)) !== false;
    } catch (err) {
      if (err instanceof InvalidToolCallError) {
        this.#invalid ??= new Map();
        this.#invalid.set(call.id, err.forModel);
        return false;
      }
      ctx.logger.error({ err }, `needsApproval of tool ${quote(tool.name)} failed, so the call needs approval`);
      return true;
    }
  }

  async #answer(turnCalls: TurnCalls, refusalOfCall: RefusalOf, repeats: readonly number[]): Promise<void> {
    const { turn, calls, asks, isReplayed } = turnCalls;
    const { recorder, transcript } = this.#options;
    const refusalOf = calls.length === 1 ? refusalOfCall : this.#refusingHandoffs(calls, refusalOfCall);
    const isOpen = (index: number): boolean => {
      const call = calls[index];
      // What is refused anyway is not asked about.
      if (call === undefined || refusalOf(call, index) !== undefined) return false;
      return !asks.includes(index) && recorder?.isAnswered(turn, index) !== true;
    };
    let { decisions } = turnCalls;
    // Earlier code had no hook that decided.
    if (isReplayed && decisions === undefined) decisions = await this.decisionsOn(turn, calls, isOpen);
    const decided = decidedCalls(calls, decisions);
    const asksNow = isReplayed
      ? await this.asksOf(decided, (index) => isOpen(index) && isExecuted(decisions)(index))
      : none;
    const answered: AnsweredCall[] = [];
    const answerOne = (call: ToolCall, index: number): Promise<ExecutedCall> => {
      const unasked = asksNow.includes(index) ? changed(call) : this.#invalid?.get(call.id);
      const refusal = refusalOf(call, index) ?? unasked;
      const decision = decisions?.[index] ?? null;
      if (decision !== null && 'refuse' in decision) {
        return this.#answerCall(turnCalls, call, index, refusal ?? decision.refuse);
      }
      if (refusal === undefined && decision !== null && 'content' in decision) {
        return this.#recordAnswer(
          turn,
          index,
          call,
          toExecuted({ value: { ...decision, durationMs: 0 }, isReplayed: false }, call),
        );
      }
      return this.#answerCall(turnCalls, decided[index] ?? call, index, refusal);
    };
    const only = calls[0];
    if (calls.length === 1 && only !== undefined) answered[0] = this.#take(await answerOne(only, 0), turnCalls);
    else {
      const take = async (call: ToolCall, index: number): Promise<void> => {
        answered[index] = this.#take(await answerOne(call, index), turnCalls);
      };
      await Promise.all(calls.map(take));
    }
    for (let index = 0; index < answered.length; index++) {
      const executed = answered[index];
      if (executed === undefined) continue;
      this.results.push(executed.result);
      this.handoff ??= executed.handoff;
      const times = repeats[index] ?? 0;
      if (times >= repeatsBeforeNote) answered[index] = { ...executed, note: repeatNote(times) };
    }
    if (this.handoff !== undefined) {
      transcript.agents = [...(transcript.agents ?? [this.#options.agent.name]), this.handoff];
    }
    const stored = transcript.answerCalls(calls, answered);
    if (stored !== undefined) await stored;
  }

  /** Adds the refusal of each handoff after the first one of a turn. */
  #refusingHandoffs(calls: readonly ToolCall[], refusalOf: RefusalOf): RefusalOf {
    const isHandoff = ({ name }: ToolCall): boolean => isHandoffTool(this.#tools.get(name));
    const first = calls.findIndex(isHandoff);
    if (first === -1) return refusalOf;
    return (call, index) => refusalOf(call, index) ?? (index > first && isHandoff(call) ? handedOver : undefined);
  }

  #take(call: ExecutedCall, { turn, isRefused }: TurnCalls): ExecutedCall {
    const { ctx, onEvent } = this.#options;
    const { result: toolResult, isDenied: denied, spentBefore } = call;
    if (spentBefore !== undefined) replaySpending(lineageOf(ctx), spentBefore);
    if (!isRefused) void onEvent?.({ type: 'tool-result', turn, toolResult, ...(denied && { denied }) });
    return call;
  }

  /** Executes, decides on or refuses a call. @param refusal reason why it must not be executed, if there is one */
  #answerCall(
    { turn, calls, asks }: TurnCalls,
    call: ToolCall,
    index: number,
    refusal: string | undefined,
  ): Promise<ExecutedCall> {
    const { ctx, recorder, waits } = this.#options;
    // With other limits, an earlier delivery executed it, or asked for an approval.
    if (refusal !== undefined && recorder?.isBegun(turn, index) !== true) {
      // Recorded: with other limits, a later attempt would execute what the model was told is not executed.
      return this.#recordAnswer(turn, index, call, refused(call, refusal));
    }
    if (asks.length > 0 && asks.includes(index)) return this.#decide(turn, index, call);
    if (recorder === undefined) {
      const execute = (): Promise<ExecutedCall> => this.#executor.execute(call, ctx, waits, turn);
      return calls.length === 1 ? execute() : this.#executor.inTurn(execute);
    }
    const execute: ExecuteCall = (place) => this.#executor.execute(call, ctx, waits, turn, place);
    const inStep = (): Promise<ExecutedCall> => this.#inStep(recorder, turn, index, call, execute);
    // A record may precede those of calls that have their turn now: another limit applied then.
    return calls.length === 1 || recorder.isAnswered(turn, index) ? inStep() : this.#executor.inTurn(inStep);
  }

  /** Records the answer of a call that is not executed. */
  #recordAnswer(turn: number, index: number, call: ToolCall, answer: ExecutedCall): Promise<ExecutedCall> {
    const { recorder } = this.#options;
    return recorder === undefined ? Promise.resolve(answer) : recorder.call(turn, index, call, () => answer, true);
  }

  /** Executes a call as a step of the durable run. */
  #inStep(
    recorder: TurnRecorder,
    turn: number,
    index: number,
    call: ToolCall,
    execute: ExecuteCall,
  ): Promise<ExecutedCall> {
    const tool = this.#tools.get(call.name);
    if (isDelegateTool(tool)) {
      return recorder.contain(turn, index, call, ({ run, path, recordsFailures }, meter) =>
        execute({ step: undefined, place: { run, pathOf: () => path, recordsFailures }, meter }),
      );
    }
    return recorder.call(
      turn,
      index,
      call,
      ({ emitter }, meter) => execute({ step: emitter, place: undefined, meter }),
      tool?.retryable !== false,
      this.#executor.limitOf(call),
    );
  }

  /** Waits for the decision on a call, and executes or refuses it. */
  async #decide(turn: number, index: number, call: ToolCall): Promise<ExecutedCall> {
    const { agent, approver, ctx, recorder, waits, onEvent } = this.#options;
    const request = {
      approvalId: recorder?.approvalId(turn, index) ?? crypto.randomUUID(),
      agentName: agent.name,
      runId: ctx.runId,
      tool: call.name,
      arguments: parseArguments(call),
    };
    const execute: ExecuteCall = (place) => this.#executor.execute(call, ctx, waits, turn, place);
    const apply = async (decision: ApprovalDecision | null, place?: CallPlace): Promise<ExecutedCall> =>
      decision?.approved === true ? execute(place) : { ...refused(call, refusalOf(decision, call)), isDenied: true };
    const { approvalId } = request;
    const ask = (): void => void onEvent?.({ type: 'approval-requested', turn, toolCallId: call.id, approvalId });
    if (recorder !== undefined && approver?.events !== undefined) {
      const { requested, decided, timeoutMs } = approver.events;
      if (!recorder.canRequest(turn, index, request)) {
        return this.#recordAnswer(turn, index, call, refused(call, tooLargeToAsk(call)));
      }
      const wait = { requested, payload: request, decided, key: approvalId, timeoutMs };
      ask();
      const payload = await recorder.decision(turn, index, call, wait);
      const decision = payload === null ? null : readDecision(payload);
      const inStep = (): Promise<ExecutedCall> =>
        this.#inStep(recorder, turn, index, call, (place) => apply(decision, place));
      return recorder.isAnswered(turn, index) ? inStep() : this.#executor.inTurn(inStep);
    }
    recorder?.skipDecision(turn, index);
    const decide = async (): Promise<ApprovalDecision> => {
      if (approver?.onApproval === undefined) return nobodyDecides;
      ask();
      try {
        return readDecision(await waits.wait(Promise.resolve(approver.onApproval(request))));
      } catch (err) {
        if (waits.signal?.aborted) throw err;
        ctx.logger.error({ err }, `onApproval failed for a call of tool ${quote(call.name)}, so the call is refused`);
        return { approved: false, reason: `the approval failed: ${messageOf(err)}` };
      }
    };
    if (recorder === undefined) {
      const decision = await decide();
      return this.#executor.inTurn(() => apply(decision));
    }
    return this.#inStep(recorder, turn, index, call, async (place) => {
      const decision = await decide();
      return this.#executor.inTurn(() => apply(decision, place));
    });
  }
}

/** Returns the calls with the arguments that were decided. */
export function decidedCalls(
  calls: readonly ToolCall[],
  decisions: readonly CallDecision[] | undefined,
): readonly ToolCall[] {
  if (decisions === undefined) return calls;
  return calls.map((call, index) => {
    const decision = decisions[index];
    return decision && 'arguments' in decision ? { ...call, arguments: decision.arguments } : call;
  });
}

/** Returns a function that returns `true` for the position of a call that may be executed. */
export function isExecuted(decisions: readonly CallDecision[] | undefined): (index: number) => boolean {
  return (index) => {
    const decision = decisions?.[index];
    return !decision || 'arguments' in decision;
  };
}

function repeatNote(turns: number): string {
  return `\n\n[This call was made with the same arguments in ${turns} turns. The result will not change: use another tool or other arguments, or answer.]`;
}

/** Longest cycle of turns that is detected. */
const maxPeriod = 4;

/**
 * Counts how often a model requests the same call in consecutive turns, or in a short cycle of turns such as A, B, A, B.
 * Calls are equal if their arguments are the same JSON value. Two equal calls in one turn count once: the model has not
 * seen the first result yet.
 */
class RepeatedCallDetector {
  /** The call of the last turn, if it had only one. Most turns have, and clearing a Map takes longer. */
  #only: { readonly key: string; readonly count: number } | undefined;
  #counts: Map<string, number> | undefined;
  /** Last turns, newest first. */
  readonly #turns: string[] = [];
  /** Number of consecutive turns that equal the turn one period before, by period. */
  readonly #matches: number[] = [];

  /** Records the calls of one turn, and returns for each call how often it was requested. */
  count(calls: readonly ToolCall[]): number[] {
    const only = calls[0];
    if (only !== undefined && calls.length === 1) {
      const key = keyOf(only);
      const count = this.#countOf(key) + 1;
      this.#only = { key, count };
      this.#counts = undefined;
      return [Math.max(count, this.#countCycle(key))];
    }
    const keys = calls.map(keyOf);
    const inCycle = this.#countCycle([...new Set(keys)].sort().join('\n'));
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, this.#countOf(key) + 1);
    this.#counts = counts;
    this.#only = undefined;
    return keys.map((key) => Math.max(counts.get(key) ?? 1, inCycle));
  }

  #countOf(key: string): number {
    return this.#only?.key === key ? this.#only.count : (this.#counts?.get(key) ?? 0);
  }

  #countCycle(turn: string): number {
    let count = 1;
    const periods = Math.min(maxPeriod, this.#turns.length);
    for (let period = 2; period <= periods; period++) {
      const matches = this.#turns[period - 1] === turn ? (this.#matches[period] ?? 0) + 1 : 0;
      this.#matches[period] = matches;
      if (matches > 0) count = Math.max(count, Math.floor((matches + period - 1) / period) + 1);
    }
    if (this.#turns.unshift(turn) > maxPeriod) this.#turns.pop();
    return count;
  }
}

function keyOf({ name, arguments: text }: ToolCall): string {
  return `${name} ${canonicalJson(text)}`;
}

/** Returns the same text for the same JSON value, whatever its spacing and order of keys. */
function canonicalJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    // A replacer is slow, and most arguments are flat.
    return isFlatAndSorted(value) ? JSON.stringify(value) : JSON.stringify(value, sortKeys);
  } catch {
    return text.trim() || '{}';
  }
}

function isFlatAndSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  // An object of JSON.parse, which inherits no keys.
  const record = value as Readonly<Record<string, unknown>>;
  let previous = '';
  // No list of keys: a turn takes microseconds.
  for (const key in record) {
    const field = record[key];
    if (key < previous || (typeof field === 'object' && field !== null)) return false;
    previous = key;
  }
  return true;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  if (entries.length < 2) return value;
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
