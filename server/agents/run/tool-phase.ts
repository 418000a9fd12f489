import type { AgentContext } from '../agent/agent-context.js';
import { StuckLoopError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { toErrorContent } from '../tools/tool-content.js';
import { ToolExecutor } from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentSpec } from './agent-spec.js';
import { RepeatedCallDetector } from './repeated-call-detector.js';
import type { Transcript } from './transcript.js';

const repeatsBeforeNote = 3;

/** Second half of a run's turns: executes or refuses the tool calls, and adds their results to the transcript. */
export class ToolPhase {
  /** One result per call so far, by turn and in the order of the calls. */
  readonly results: ToolResult[] = [];
  readonly #executor: ToolExecutor;
  readonly #maxRepeats: number;
  readonly #transcript: Transcript;
  readonly #ctx: AgentContext;
  readonly #signal: AbortSignal | undefined;
  readonly #repeatedCalls = new RepeatedCallDetector();

  constructor(
    { maxParallelToolCalls, maxRepeats, clock }: AgentSpec,
    tools: ToolRegistry,
    transcript: Transcript,
    ctx: AgentContext,
    signal: AbortSignal | undefined,
  ) {
    this.#executor = new ToolExecutor(tools, { maxParallel: maxParallelToolCalls, clock });
    this.#maxRepeats = maxRepeats;
    this.#transcript = transcript;
    this.#ctx = ctx;
    this.#signal = signal;
  }

  /**
   * Answers every call of the last message of the transcript.
   *
   * @param refusal reason why the calls must not be executed, if there is one
   * @throws {StuckLoopError} after all calls are answered, if one of them was requested in too many consecutive turns
   */
  async run(
    calls: readonly ToolCall[],
    refusal: string | undefined,
    onResult: ((result: ToolResult) => void) | undefined,
  ): Promise<void> {
    const repeats = this.#repeatedCalls.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= this.#maxRepeats);
    const reason = stuck === undefined ? refusal : 'not executed: the same call was made in too many consecutive turns';
    const contents = new Map<string, string>();
    const record = (result: ToolResult, content: string): void => {
      contents.set(result.toolCallId, content);
      onResult?.(result);
    };
    if (reason === undefined) {
      this.results.push(...(await this.#executor.executeAll(calls, this.#ctx, this.#signal, record)));
    } else {
      for (const { id, name } of calls) {
        const result = { toolCallId: id, name, result: null, error: reason, durationMs: 0 };
        this.results.push(result);
        record(result, toErrorContent(reason));
      }
    }
    for (const [index, { id }] of calls.entries()) {
      const turns = repeats[index] ?? 0;
      if (turns >= repeatsBeforeNote) contents.set(id, `${contents.get(id)}${repeatNote(turns)}`);
    }
    await this.#transcript.answerCalls(contents);
    if (stuck !== undefined) throw new StuckLoopError(stuck.name, this.#maxRepeats);
  }
}

function repeatNote(turns: number): string {
  return `\n\n[This call was made with the same arguments in ${turns} consecutive turns. The result will not change: use another tool or other arguments, or answer.]`;
}
