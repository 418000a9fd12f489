import type { AgentSpec } from './agent-config.js';
import type { AgentContext } from './agent-context.js';
import { StuckLoopError } from './errors.js';
import type { ToolCall } from './message.js';
import { RepeatCounter } from './repeat-counter.js';
import type { ToolResult } from './tool.js';
import { ToolExecutor } from './tool-executor.js';
import type { ToolRegistry } from './tool-registry.js';
import { toErrorText } from './tool-result-text.js';
import type { Transcript } from './transcript.js';

const repeatsBeforeNote = 3;

/** The second half of a run's turns: has the calls carried out, or refuses them, and answers each. */
export class ToolPhase {
  /** One for each call so far, turn by turn in the order of the calls. */
  readonly results: ToolResult[] = [];
  readonly #executor: ToolExecutor;
  readonly #maxRepeats: number;
  readonly #transcript: Transcript;
  readonly #ctx: AgentContext;
  readonly #signal: AbortSignal | undefined;
  readonly #repeats = new RepeatCounter();

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
   * Answers every call of the transcript's last message.
   *
   * @param refusal why none of them is to be carried out
   * @throws {StuckLoopError} once they are answered, where one was made in too many turns in a row
   */
  async run(
    calls: readonly ToolCall[],
    refusal: string | undefined,
    onResult: ((result: ToolResult) => void) | undefined,
  ): Promise<void> {
    const repeats = this.#repeats.count(calls);
    const stuck = calls.find((_, index) => (repeats[index] ?? 0) >= this.#maxRepeats);
    const why = stuck === undefined ? refusal : 'not carried out: the same call was made in too many turns in a row';
    const contents: string[] = [];
    const record = (result: ToolResult, content: string, index: number): void => {
      const turns = repeats[index] ?? 0;
      contents[index] = turns < repeatsBeforeNote ? content : content + repeatNote(turns);
      onResult?.(result);
    };
    if (why === undefined) {
      this.results.push(...(await this.#executor.executeAll(calls, this.#ctx, this.#signal, record)));
    } else {
      for (const [index, { id, name }] of calls.entries()) {
        const result = { toolCallId: id, name, result: null, error: why, durationMs: 0 };
        this.results.push(result);
        record(result, toErrorText(why), index);
      }
    }
    await this.#transcript.answerCalls(contents);
    if (stuck !== undefined) throw new StuckLoopError(stuck.name, this.#maxRepeats);
  }
}

function repeatNote(turns: number): string {
  return `\n\n[This is turn number ${turns} in a row with this call and these arguments. The result will not change: do something else, or answer.]`;
}
