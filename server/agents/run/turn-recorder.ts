import type { HandlerCtx } from '../../hub/events/context.js';
import { type ApprovalWait, type DurableRun, StepResult } from '../../hub/runs/definition/durable-place.js';
import { deriveId } from '../../transports/derive-id.js';
import { abortable } from '../abortable.js';
import type { ToolCall } from '../model/message.js';
import { shownUsage, type TokenUsage } from '../model/token-usage.js';
import { toErrorContent } from '../tools/tool-content.js';
import type { ExecutedCall } from '../tools/tool-executor.js';
import type { PaidAnswer } from './model-caller.js';

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
interface RecordedAnswer extends TurnAnswer {
  /** Tokens of the turn, those of failed calls included. */
  readonly spent: TokenUsage;
  /** Name of each call's step: a model may call a tool that does not exist. */
  readonly steps: readonly string[];
}

/** Recorded result of a tool call: what the model was sent. */
interface RecordedCall {
  readonly content: string;
  /** The content is the whole result as JSON. */
  readonly isJson?: true;
  readonly error?: string;
  readonly durationMs: number;
}

/** Place at which the run of an agent records its turns. */
export interface RunPlace {
  readonly run: DurableRun;
  /** Start of the ids of its steps. */
  readonly path: string;
  readonly recordsFailures: boolean;
}

// Compared by identity only: an error per answer cost more than its record.
const outOfBudget = new Error('the call does not fit into the budget');

/** Records the turns of an agent's run as steps of a durable run. */
export class TurnRecorder {
  readonly #place: RunPlace;
  readonly #agent: string;
  readonly #signal: AbortSignal | undefined;
  #steps: readonly string[] = [];

  /** @param agent name of the agent */
  constructor(place: RunPlace, agent: string, signal: AbortSignal | undefined) {
    this.#place = place;
    this.#agent = agent;
    this.#signal = signal;
  }

  get run(): DurableRun {
    return this.#place.run;
  }

  get recordsFailures(): boolean {
    return this.#place.recordsFailures;
  }

  /** Key of this agent's run, the same for all attempts. */
  get key(): string {
    return `${this.run.key}/${this.#place.path}`;
  }

  /**
   * Records an answer. Resolves with `undefined` if the call does not fit into the budget, and tells if the answer was
   * recorded by an earlier delivery.
   *
   * @param ask makes the model call
   * @param spent returns the tokens of the turn so far
   * @param isTool tells if a tool exists
   * @param model returns the model that answered
   */
  async answer(
    turn: number,
    ask: () => Promise<TurnAnswer | undefined>,
    spent: () => TokenUsage,
    isTool: (name: string) => boolean,
    model: () => string,
  ): Promise<{ readonly recorded: RecordedAnswer; readonly isNew: boolean } | undefined> {
    const { run, path, recordsFailures } = this.#place;
    const agent = this.#agent;
    let isNew = false;
    const call = async (): Promise<StepResult | null> => {
      isNew = true;
      const answer = await ask();
      if (answer !== undefined) {
        const usage = spent();
        const value: RecordedAnswer = { ...answer, spent: usage, steps: stepNames(answer.calls, isTool) };
        return new StepResult(value, { agent, model: model(), usage: shownUsage(usage) });
      }
      // A larger budget lets the next attempt go on.
      if (!recordsFailures) throw outOfBudget;
      return null;
    };
    try {
      // Written by `call`.
      const step = run.record('model', `${path}turn ${turn}`, call, recordsFailures, { agent });
      const recorded = (await this.#abortable(step)) as RecordedAnswer | null;
      if (recorded === null) return undefined;
      this.#steps = recorded.steps;
      return { recorded, isNew };
    } catch (error) {
      if (error === outOfBudget) return undefined;
      throw error;
    }
  }

  /** Records the result of a call of the last answer. @param execute receives the context in which the tool emits */
  async call(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (ctx: HandlerCtx) => ExecutedCall | Promise<ExecutedCall>,
    isRetryable: boolean,
  ): Promise<ExecutedCall> {
    const { run } = this.#place;
    const id = this.#idOf(turn, index);
    const record = async (ctx: HandlerCtx): Promise<RecordedCall | StepResult> => {
      if (!isRetryable) {
        if (run.isStarted(id)) return interrupted;
        await run.start(id);
      }
      const executed = await execute(ctx);
      // The next attempt executes the call again.
      if (executed.isInterrupted) throw this.#signal?.reason;
      const recorded = toRecorded(executed);
      return recorded.error === undefined ? recorded : new StepResult(recorded, { isToolError: true }, false);
    };
    // Written by `record`.
    return toExecuted((await this.#abortable(run.record('tool', id, record, false))) as RecordedCall, call);
  }

  /** Records the result of a call whose execution records steps of its own. */
  async contain(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (place: RunPlace) => Promise<ExecutedCall>,
  ): Promise<ExecutedCall> {
    const { run, recordsFailures } = this.#place;
    const id = this.#idOf(turn, index);
    const path = `${id} / `;
    const contained = run.contain(id, path, async () => {
      const executed = await execute({ run, path, recordsFailures });
      if (executed.isInterrupted) throw this.#signal?.reason;
      const recorded = toRecorded(executed);
      return recorded.error === undefined ? recorded : new StepResult(recorded, { isToolError: true });
    });
    return toExecuted((await this.#abortable(contained)) as RecordedCall, call);
  }

  /** Returns the id of a request to decide on a call. */
  approvalId(turn: number, index: number): string {
    return deriveId('approval', this.run.key, this.#idOf(turn, index));
  }

  /** Waits for the decision on a call. */
  decision(turn: number, index: number, wait: ApprovalWait): PromiseLike<unknown> {
    return this.#abortable(this.run.decision(this.#idOf(turn, index), wait));
  }

  /** Records that the conversation is stored. */
  async storeConversation(store: () => Promise<void>): Promise<void> {
    const { run, recordsFailures } = this.#place;
    await this.#abortable(run.record('memory', this.#conversationId, store, recordsFailures));
  }

  /** The conversation is stored. */
  get isConversationStored(): boolean {
    return this.run.isRecorded('memory', this.#conversationId);
  }

  get #conversationId(): string {
    return `${this.#place.path}conversation`;
  }

  // A run that is aborted by its time-out does not leave the process.
  #abortable<T>(work: Promise<T>): PromiseLike<T> {
    return abortable(work, this.#signal);
  }

  #idOf(turn: number, index: number): string {
    return `${this.#place.path}turn ${turn} / ${this.#steps[index] ?? index}`;
  }
}

const interruptedError = 'interrupted: the call may or may not have been executed, and must not be repeated';
const interrupted: RecordedCall = {
  content: toErrorContent(interruptedError),
  error: interruptedError,
  durationMs: 0,
};

/** Returns a name per call: that of its tool, with an ordinal if the turn calls the tool more than once. */
function stepNames(calls: readonly ToolCall[], isTool: (name: string) => boolean): string[] {
  const uses = new Map<string, number>();
  return calls.map(({ name }) => {
    const known = isTool(name) ? name : 'unknown tool';
    const use = (uses.get(known) ?? 0) + 1;
    uses.set(known, use);
    return use === 1 ? known : `${known} #${use}`;
  });
}

function toRecorded({ result: { error, durationMs }, content, isJson }: ExecutedCall): RecordedCall {
  if (error !== undefined) return { content, error, durationMs };
  return { content, ...(isJson === true && { isJson }), durationMs };
}

function toExecuted(
  { content, isJson: isValue, error, durationMs }: RecordedCall,
  { id, name }: ToolCall,
): ExecutedCall {
  const value: unknown = error !== undefined ? null : isValue === true ? JSON.parse(content) : content;
  const result = { toolCallId: id, name, result: value, ...(error !== undefined && { error }), durationMs };
  return { result, content, isInterrupted: false };
}
