import type { AgentContext } from '../agent/agent-context.js';
import { StuckLoopError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { toErrorContent } from '../tools/tool-content.js';
import { type ExecutedCall, ToolExecutor } from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentSpec } from './agent-spec.js';
import { RepeatedCallDetector } from './repeated-call-detector.js';
import type { CallContent, Transcript } from './transcript.js';

const repeatsBeforeNote = 3;

/** Second half of a run's turns: executes or refuses the tool calls, and adds their results to the transcript. */
export class ToolPhase {
  /** One result per call so far, by turn and in the order of the calls. */
  readonly results: ToolResult[] = [];
  readonly #tools: ToolRegistry;
  readonly #executor: ToolExecutor;
  readonly #maxRepeats: number;
  readonly #maxToolCalls: number;
  readonly #transcript: Transcript;
  readonly #ctx: AgentContext;
  readonly #signal: AbortSignal | undefined;
  readonly #repeatedCalls = new RepeatedCallDetector();

  constructor(
    { maxParallelToolCalls, maxToolResultChars, maxToolCalls, maxRepeats, clock }: AgentSpec,
    tools: ToolRegistry,
    transcript: Transcript,
    ctx: AgentContext,
    signal: AbortSignal | undefined,
  ) {
    const options = { maxParallel: maxParallelToolCalls, maxResultChars: maxToolResultChars, clock };
    this.#tools = tools;
    this.#executor = new ToolExecutor(tools, options);
    this.#maxRepeats = maxRepeats;
    this.#maxToolCalls = maxToolCalls;
    this.#transcript = transcript;
    this.#ctx = ctx;
    this.#signal = signal;
  }

  /** Counts the repetitions of an earlier attempt's turns. */
  resume(turns: readonly (readonly ToolCall[])[]): void {
    for (const calls of turns) this.#repeatedCalls.count(calls);
  }

  /** Executes the calls of an interrupted turn again, with the same keys. */
  async repeat(
    calls: readonly ToolCall[],
    onResult: ((result: ToolResult) => void) | undefined,
    turn: number,
  ): Promise<void> {
    const isRepeatable = ({ name }: ToolCall): boolean => this.#tools.get(name)?.retryable !== false;
    const reason = 'interrupted: the call may or may not have been executed, and must not be repeated';
    await this.#answer(calls, (call) => (isRepeatable(call) ? undefined : reason), [], onResult, turn);
  }

  /**
   * Answers every call of the last message of the transcript.
   *
   * @param refusal reason why the calls must not be executed, if there is one
   * @throws {StuckLoopError} after all calls are answered, if one of them was requested too often
   */
  async run(
    calls: readonly ToolCall[],
    refusal: string | undefined,
    onResult: ((result: ToolResult) => void) | undefined,
    turn: number,
  ): Promise<void> {
    const repeats = this.#repeatedCalls.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= this.#maxRepeats);
    const allowed = this.#maxToolCalls - (this.#transcript.toolCalls - calls.length);
    const refusalOf = (_call: ToolCall, index: number): string | undefined => {
      if (stuck !== undefined) return 'not executed: the same call was made in too many turns';
      return (
        refusal ?? (index < allowed ? undefined : `not executed: the run reached maxToolCalls (${this.#maxToolCalls})`)
      );
    };
    await this.#answer(calls, refusalOf, repeats, onResult, turn);
    if (stuck !== undefined) throw new StuckLoopError(stuck.name, this.#maxRepeats);
  }

  async #answer(
    calls: readonly ToolCall[],
    refusalOf: (call: ToolCall, index: number) => string | undefined,
    repeats: readonly number[],
    onResult: ((result: ToolResult) => void) | undefined,
    turn: number,
  ): Promise<void> {
    const contents = new Map<string, CallContent>();
    const record = (call: ExecutedCall): void => {
      contents.set(call.result.toolCallId, call);
      onResult?.(call.result);
    };
    const results = new Map<string, ToolResult>();
    const executable = calls.filter((call, index) => {
      const error = refusalOf(call, index);
      if (error === undefined) return true;
      const answer = refused(call, error);
      results.set(call.id, answer.result);
      record(answer);
      return false;
    });
    if (executable.length > 0) {
      const executed = await this.#executor.executeAll(executable, this.#ctx, this.#signal, {
        turn,
        onExecuted: record,
      });
      // In the order of the calls, refused ones included.
      if (results.size === 0) this.results.push(...executed);
      else for (const result of executed) results.set(result.toolCallId, result);
    }
    for (let index = 0; index < calls.length; index++) {
      const id = calls[index]?.id ?? '';
      const result = results.get(id);
      if (result !== undefined) this.results.push(result);
      const times = repeats[index] ?? 0;
      const answered = times < repeatsBeforeNote ? undefined : contents.get(id);
      if (answered !== undefined) contents.set(id, { ...answered, note: repeatNote(times) });
    }
    await this.#transcript.answerCalls(contents);
  }
}

function refused({ id, name }: ToolCall, error: string): ExecutedCall {
  const result = { toolCallId: id, name, result: null, error, durationMs: 0 };
  return { result, content: toErrorContent(error), isInterrupted: false };
}

function repeatNote(turns: number): string {
  return `\n\n[This call was made with the same arguments in ${turns} turns. The result will not change: use another tool or other arguments, or answer.]`;
}
