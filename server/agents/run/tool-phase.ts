import { messageOf, quote } from '../../errors.js';
import type { AbortableWaits } from '../abortable.js';
import { type AgentContext, type CallPlace, lineageOf } from '../agent/agent-context.js';
import { type ApprovalDecision, type Approver, readDecision, refusalOf, tooLargeToAsk } from '../agent/approval.js';
import type { AgentSpec } from '../agent-spec.js';
import { InvalidToolCallError, StuckLoopError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { isDelegateTool, replaySpending } from '../multi-agent/delegation.js';
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
import type { CallContent, Transcript } from './transcript.js';
import type { TurnRecorder } from './turn-recorder.js';

const repeatsBeforeNote = 3;

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
}

/** Calls of one turn. */
export interface TurnCalls {
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  /** Positions of the calls that need approval. */
  readonly asks: readonly number[];
  /** An earlier delivery recorded the calls, perhaps with other tools. */
  readonly isReplayed: boolean;
}

type AnsweredCall = ExecutedCall & Pick<CallContent, 'note'>;
type OnResult = ((result: ToolResult) => void) | undefined;
const none: readonly number[] = [];

/** Second half of a run's turns: executes or refuses the tool calls, and adds their results to the transcript. */
export class ToolPhase {
  /** One result per call so far, by turn and in the order of the calls. */
  readonly results: ToolResult[] = [];
  readonly #options: ToolPhaseOptions;
  readonly #executor: ToolExecutor;
  readonly #repeatedCalls = new RepeatedCallDetector();
  /** Errors of calls whose tool refused the arguments when it was to say whether they need approval. */
  #invalid: WeakMap<ToolCall, string> | undefined;

  constructor(options: ToolPhaseOptions) {
    const { maxParallelToolCalls, maxToolResultChars, clock } = options.agent;
    this.#options = options;
    this.#executor = new ToolExecutor(options.tools, {
      maxParallel: maxParallelToolCalls,
      maxResultChars: maxToolResultChars,
      clock,
    });
  }

  /** Counts the repetitions of an earlier attempt's turns. */
  resume(turns: readonly (readonly ToolCall[])[]): void {
    for (const calls of turns) this.#repeatedCalls.count(calls);
  }

  /** Executes the calls of an interrupted turn again, with the same keys. */
  async repeat(calls: readonly ToolCall[], onResult: OnResult, turn: number): Promise<void> {
    const isRepeatable = ({ name }: ToolCall): boolean => this.#options.tools.get(name)?.retryable !== false;
    const reason = `interrupted: ${unknownEffect}, and must not be repeated`;
    const asks = await this.asksOf(calls);
    await this.#answer(
      { turn, calls, asks, isReplayed: false },
      (call) => (isRepeatable(call) ? undefined : reason),
      none,
      onResult,
    );
  }

  /**
   * Answers every call of the last message of the transcript.
   *
   * @param refusal reason why the calls must not be executed, if there is one
   * @throws {StuckLoopError} after all calls are answered, if one of them was requested too often
   */
  run(turn: TurnCalls, refusal: string | undefined, onResult: OnResult): Promise<void> {
    const { calls } = turn;
    const { maxRepeats, maxToolCalls } = this.#options.agent;
    const repeats = this.#repeatedCalls.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= maxRepeats);
    const allowed = maxToolCalls - (this.#options.transcript.toolCalls - calls.length);
    const refusalOf = (_call: ToolCall, index: number): string | undefined => {
      if (stuck !== undefined) return 'not executed: the same call was made in too many turns';
      return refusal ?? (index < allowed ? undefined : `not executed: the run reached maxToolCalls (${maxToolCalls})`);
    };
    const answered = this.#answer(turn, refusalOf, repeats, onResult);
    if (stuck === undefined) return answered;
    return answered.then(() => {
      throw new StuckLoopError(stuck.name, maxRepeats, this.#options.tools.get(stuck.name) !== undefined);
    });
  }

  /** Returns the positions of the calls that need approval, of all or of those that `isMeant` selects. */
  asksOf(
    calls: readonly ToolCall[],
    isMeant: (index: number) => boolean = () => true,
  ): readonly number[] | Promise<readonly number[]> {
    return this.#options.tools.asksForApproval ? this.#findAsks(calls, isMeant) : none;
  }

  async #findAsks(calls: readonly ToolCall[], isMeant: (index: number) => boolean): Promise<readonly number[]> {
    const needs = await Promise.all(calls.map((call, index) => isMeant(index) && this.#needsApproval(call)));
    return calls.flatMap((_, index) => (needs[index] === true ? [index] : []));
  }

  async #needsApproval(call: ToolCall): Promise<boolean> {
    const { ctx, tools } = this.#options;
    if (!tools.get(call.name)?.needsApproval) return false;
    let prepared: ReturnType<ToolExecutor['prepare']>;
    try {
      prepared = this.#executor.prepare(call);
    } catch {
      // The model receives the error instead.
      return false;
    }
    const { tool, input } = prepared;
    if (typeof tool.needsApproval !== 'function') return true;
    try {
      // Whatever is not `false` needs approval.
      return (await tool.needsApproval(input, ctx)) !== false;
    } catch (err) {
      if (err instanceof InvalidToolCallError) {
        this.#invalid ??= new WeakMap();
        this.#invalid.set(call, err.forModel);
        return false;
      }
      ctx.logger.error({ err }, `needsApproval of tool ${quote(tool.name)} failed, so the call needs approval`);
      return true;
    }
  }

  async #answer(
    turnCalls: TurnCalls,
    refusalOf: (call: ToolCall, index: number) => string | undefined,
    repeats: readonly number[],
    onResult: OnResult,
  ): Promise<void> {
    const { turn, calls, asks, isReplayed } = turnCalls;
    const { recorder, transcript } = this.#options;
    const isOpen = (index: number): boolean => !asks.includes(index) && recorder?.isAnswered(turn, index) !== true;
    const asksNow = isReplayed ? await this.asksOf(calls, isOpen) : none;
    const answered: AnsweredCall[] = [];
    const answerOne = (call: ToolCall, index: number): Promise<ExecutedCall> => {
      const unasked = asksNow.includes(index) ? changed(call) : this.#invalid?.get(call);
      return this.#answerCall(turnCalls, call, index, refusalOf(call, index) ?? unasked);
    };
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) answered[0] = this.#take(await answerOne(only, 0), onResult);
    else {
      const take = async (call: ToolCall, index: number): Promise<void> => {
        answered[index] = this.#take(await answerOne(call, index), onResult);
      };
      await Promise.all(calls.map(take));
    }
    for (let index = 0; index < answered.length; index++) {
      const executed = answered[index];
      if (executed === undefined) continue;
      this.results.push(executed.result);
      const times = repeats[index] ?? 0;
      if (times >= repeatsBeforeNote) answered[index] = { ...executed, note: repeatNote(times) };
    }
    const stored = transcript.answerCalls(calls, answered);
    if (stored !== undefined) await stored;
  }

  #take(call: ExecutedCall, onResult: OnResult): ExecutedCall {
    if (call.spentBefore !== undefined) replaySpending(lineageOf(this.#options.ctx), call.spentBefore);
    onResult?.(call.result);
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
      const answer = refused(call, refusal);
      // Recorded: with other limits, a later attempt would execute what the model was told is not executed.
      return recorder === undefined ? Promise.resolve(answer) : recorder.call(turn, index, call, () => answer, true);
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

  /** Executes a call as a step of the durable run. */
  #inStep(
    recorder: TurnRecorder,
    turn: number,
    index: number,
    call: ToolCall,
    execute: ExecuteCall,
  ): Promise<ExecutedCall> {
    const { tools } = this.#options;
    const tool = tools.get(call.name);
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
    );
  }

  /** Waits for the decision on a call, and executes or refuses it. */
  async #decide(turn: number, index: number, call: ToolCall): Promise<ExecutedCall> {
    const { agent, approver, ctx, recorder, waits } = this.#options;
    const request = {
      approvalId: recorder?.approvalId(turn, index) ?? crypto.randomUUID(),
      agentName: agent.name,
      runId: ctx.runId,
      tool: call.name,
      arguments: parseArguments(call),
    };
    const execute: ExecuteCall = (place) => this.#executor.execute(call, ctx, waits, turn, place);
    const apply = async (decision: ApprovalDecision | null, place?: CallPlace): Promise<ExecutedCall> =>
      decision?.approved === true ? execute(place) : refused(call, refusalOf(decision, call));
    if (recorder !== undefined && approver?.events !== undefined) {
      const { requested, decided, timeoutMs } = approver.events;
      if (!recorder.canRequest(turn, index, request)) {
        const answer = refused(call, tooLargeToAsk(call));
        return recorder.call(turn, index, call, () => answer, true);
      }
      const wait = { requested, payload: request, decided, key: request.approvalId, timeoutMs };
      const payload = await recorder.decision(turn, index, wait);
      const decision = payload === null ? null : readDecision(payload);
      const inStep = (): Promise<ExecutedCall> =>
        this.#inStep(recorder, turn, index, call, (place) => apply(decision, place));
      return recorder.isAnswered(turn, index) ? inStep() : this.#executor.inTurn(inStep);
    }
    recorder?.skipDecision(turn, index);
    const decide = async (): Promise<ApprovalDecision> => {
      if (approver?.onApproval === undefined) return nobodyDecides;
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
    const [only] = calls;
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
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    // A replacer is slow, and most arguments are flat.
    return isFlatAndSorted(value) ? JSON.stringify(value) : JSON.stringify(value, sortKeys);
  } catch {
    return text.trim();
  }
}

function isFlatAndSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  let previous = '';
  // No list of keys: a turn takes microseconds. What JSON.parse returns inherits none.
  for (const key in value) {
    const field: unknown = Reflect.get(value, key);
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
