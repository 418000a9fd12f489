import { messageOf, quote } from '../../errors.js';
import { abortable } from '../abortable.js';
import type { AgentContext } from '../agent/agent-context.js';
import { contextInStep } from '../agent/agent-context.js';
import { type ApprovalDecision, type Approver, readDecision, refusalOf } from '../approvals/approval.js';
import { isDelegateTool } from '../delegation/delegate-tool.js';
import { StuckLoopError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { toErrorContent } from '../tools/tool-content.js';
import { type ExecuteCall, type ExecutedCall, parseArguments, ToolExecutor } from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentSpec } from './agent-spec.js';
import { RepeatedCallDetector } from './repeated-call-detector.js';
import type { CallContent, Transcript } from './exchange/transcript.js';
import type { TurnRecorder } from './turn-recorder.js';

const repeatsBeforeNote = 3;

/** Run whose calls a {@link ToolPhase} executes. */
export interface ToolPhaseOptions {
  readonly agent: AgentSpec;
  readonly tools: ToolRegistry;
  readonly transcript: Transcript;
  readonly ctx: AgentContext;
  readonly signal: AbortSignal | undefined;
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
    const reason = 'interrupted: the call may or may not have been executed, and must not be repeated';
    const asks = await this.asksOf(calls);
    await this.#answer({ turn, calls, asks }, (call) => (isRepeatable(call) ? undefined : reason), none, onResult);
  }

  /**
   * Answers every call of the last message of the transcript.
   *
   * @param refusal reason why the calls must not be executed, if there is one
   * @throws {StuckLoopError} after all calls are answered, if one of them was requested too often
   */
  async run(turn: TurnCalls, refusal: string | undefined, onResult: OnResult): Promise<void> {
    const { calls } = turn;
    const { maxRepeats, maxToolCalls } = this.#options.agent;
    const repeats = this.#repeatedCalls.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= maxRepeats);
    const allowed = maxToolCalls - (this.#options.transcript.toolCalls - calls.length);
    const refusalOf = (_call: ToolCall, index: number): string | undefined => {
      if (stuck !== undefined) return 'not executed: the same call was made in too many turns';
      return refusal ?? (index < allowed ? undefined : `not executed: the run reached maxToolCalls (${maxToolCalls})`);
    };
    await this.#answer(turn, refusalOf, repeats, onResult);
    if (stuck !== undefined) throw new StuckLoopError(stuck.name, maxRepeats);
  }

  /** Returns the positions of the calls that need approval. */
  asksOf(calls: readonly ToolCall[]): readonly number[] | Promise<readonly number[]> {
    return this.#options.tools.asksForApproval ? this.#findAsks(calls) : none;
  }

  async #findAsks(calls: readonly ToolCall[]): Promise<readonly number[]> {
    const needs = await Promise.all(calls.map((call) => this.#needsApproval(call)));
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
      ctx.logger.error({ err }, `needsApproval of tool ${quote(tool.name)} failed, so the call needs approval`);
      return true;
    }
  }

  async #answer(
    { turn, calls, asks }: TurnCalls,
    refusalOf: (call: ToolCall, index: number) => string | undefined,
    repeats: readonly number[],
    onResult: OnResult,
  ): Promise<void> {
    const { ctx, recorder, signal, transcript } = this.#options;
    const executedCalls = new Map<string, AnsweredCall>();
    const record = (call: ExecutedCall): void => {
      executedCalls.set(call.result.toolCallId, call);
      onResult?.(call.result);
    };
    const others: Promise<void>[] = [];
    const executable = calls.filter((call, index) => {
      const error = refusalOf(call, index) ?? this.#changeOf(call, asks.includes(index));
      if (error !== undefined) {
        const answer = refused(call, error);
        // Recorded: with other limits, a later attempt would execute what the model was told is not executed.
        if (recorder === undefined) record(answer);
        else others.push(recorder.call(turn, index, call, () => answer, true).then(record));
        return false;
      }
      if (!asks.includes(index)) return true;
      others.push(this.#decide(turn, index, call).then(record));
      return false;
    });
    if (executable.length > 0) {
      const around =
        recorder &&
        ((call: ToolCall, execute: ExecuteCall) => this.#inStep(recorder, turn, calls.indexOf(call), call, execute));
      const progress = { turn, onExecuted: record, ...(around && { around }) };
      const executed = this.#executor.executeAll(executable, ctx, signal, progress);
      await (others.length === 0 ? executed : Promise.all([executed, ...others]));
    } else await Promise.all(others);
    for (const [index, { id }] of calls.entries()) {
      const executed = executedCalls.get(id);
      if (executed === undefined) continue;
      this.results.push(executed.result);
      const times = repeats[index] ?? 0;
      if (times >= repeatsBeforeNote) executedCalls.set(id, { ...executed, note: repeatNote(times) });
    }
    const stored = transcript.answerCalls(executedCalls);
    if (stored !== undefined) await stored;
  }

  /** Executes a call as a step of the durable run. */
  #inStep(
    recorder: TurnRecorder,
    turn: number,
    index: number,
    call: ToolCall,
    execute: ExecuteCall,
  ): Promise<ExecutedCall> {
    const { ctx, tools } = this.#options;
    const tool = tools.get(call.name);
    if (isDelegateTool(tool)) {
      return recorder.contain(turn, index, call, ({ run, path, recordsFailures }) =>
        execute(contextInStep(ctx, { step: undefined, place: { run, pathOf: () => path, recordsFailures } })),
      );
    }
    return recorder.call(
      turn,
      index,
      call,
      (step) => execute(contextInStep(ctx, { step, place: undefined })),
      tool?.retryable !== false,
    );
  }

  /** Waits for the decision on a call, and executes or refuses it. */
  async #decide(turn: number, index: number, call: ToolCall): Promise<ExecutedCall> {
    const { agent, approver, ctx, recorder, signal } = this.#options;
    const request = {
      approvalId: recorder?.approvalId(turn, index) ?? crypto.randomUUID(),
      agentName: agent.name,
      runId: ctx.runId,
      tool: call.name,
      arguments: parseArguments(call),
    };
    const execute: ExecuteCall = async (own) => {
      const executed: ExecutedCall[] = [];
      await this.#executor.executeAll([call], own, signal, { turn, onExecuted: (one) => executed.push(one) });
      return executed[0] ?? refused(call, 'no result');
    };
    const apply = async (decision: ApprovalDecision | null, own: AgentContext): Promise<ExecutedCall> =>
      decision?.approved === true ? execute(own) : refused(call, refusalOf(decision, call));
    if (recorder !== undefined && approver?.events !== undefined) {
      const { requested, decided, timeoutMs } = approver.events;
      const wait = { requested, payload: request, decided, key: request.approvalId, timeoutMs };
      const payload = await recorder.decision(turn, index, wait);
      const decision = payload === null ? null : readDecision(payload);
      return this.#inStep(recorder, turn, index, call, (own) => apply(decision, own));
    }
    const decide = async (): Promise<ApprovalDecision> => {
      try {
        return readDecision(await abortable(Promise.resolve(approver?.onApproval?.(request)), signal));
      } catch (err) {
        if (signal?.aborted) throw err;
        ctx.logger.error({ err }, `onApproval failed for a call of tool ${quote(call.name)}, so the call is refused`);
        return { approved: false, reason: `the approval failed: ${messageOf(err)}` };
      }
    };
    if (recorder === undefined) return apply(await decide(), ctx);
    return this.#inStep(recorder, turn, index, call, async (own) => apply(await decide(), own));
  }

  /** Returns an error for a call that needs approval now, and needed none when the model made it. */
  #changeOf(call: ToolCall, isAsked: boolean): string | undefined {
    if (isAsked || this.#options.tools.get(call.name)?.needsApproval !== true) return undefined;
    try {
      this.#executor.prepare(call);
    } catch {
      // The model receives this error instead.
      return undefined;
    }
    return `not executed: ${call.name} needs approval now; call it again`;
  }
}

function refused({ id, name }: ToolCall, error: string): ExecutedCall {
  const result = { toolCallId: id, name, result: null, error, durationMs: 0 };
  return { result, content: toErrorContent(error), isInterrupted: false };
}

function repeatNote(turns: number): string {
  return `\n\n[This call was made with the same arguments in ${turns} turns. The result will not change: use another tool or other arguments, or answer.]`;
}

/** Returns why the calls of an answer must not be executed; `undefined` if they may be. */
export function refusalReason(isTruncated: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not executed: the token budget is used up';
  if (isTruncated) {
    return 'not executed: the answer reached its token limit, so its calls may be incomplete; request fewer calls at once';
  }
  return undefined;
}
