import { AsyncResource } from 'node:async_hooks';
import {
  type ApprovalWait,
  type DurableRun,
  type DurableStep,
  StepResult,
  type TurnScope,
} from '../../hub/events/agent-support/durable-place.js';
import type { TurnFacts } from '../../hub/events/agent-support/turn-facts.js';
import { deriveId } from '../../transports/derive-id.js';
import type { AbortableWaits } from '../abortable.js';
import type { ToolCall, ToolDefinition } from '../model/message.js';
import { type CallSpending, noUsage, shownUsage, type TokenUsage, usageSince } from '../model/token-usage.js';
import { toErrorContent } from '../tools/tool-content.js';
import type { ExecutedCall } from '../tools/tool-executor.js';
import {
  type CompactAnswer,
  compact,
  expand,
  isJson,
  type RecordedAnswer,
  type TurnAnswer,
} from './recorded-answer.js';
import { type RecordedCall, toExecuted, toRecorded, toReplayed } from './recorded-call.js';
import type { RunTimer } from './run-timer.js';

/** Place at which the run of an agent records its turns. */
export interface RunPlace {
  readonly run: DurableRun;
  /** Start of the ids of its steps. */
  readonly path: string;
  readonly recordsFailures: boolean;
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
  /** Makes a model call. Resolves with `undefined` if it does not fit into the budget. */
  ask(tools: ToolDefinition[]): Promise<TurnAnswer | undefined>;
  /** Takes a recorded answer into account. @param spent tokens of its turn */
  replay(recorded: TurnAnswer, spent: TokenUsage): void;
  /** Returns `true` if a tool exists. */
  isTool(name: string): boolean;
}

// Compared by identity only: an error per answer cost more than its record.
const outOfBudget = new Error('the call does not fit into the budget');

/** Records the turns of an agent's run as steps of a durable run. */
export class TurnRecorder {
  readonly #place: RunPlace;
  /** Facts about each answer. */
  readonly #facts: { readonly agent: string };
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  /** Spans of the steps are children of the agent's span, not of the engine's. */
  readonly #resource = new AsyncResource('hubline.turn');
  #steps: readonly string[] = [];

  /** @param agent name of the agent */
  constructor(place: RunPlace, agent: string, timer: RunTimer, waits: AbortableWaits) {
    this.#place = place;
    this.#facts = { agent };
    this.#timer = timer;
    this.#waits = waits;
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
   * Records an answer, or returns the one that an earlier delivery recorded, which is then replayed. Resolves with
   * `undefined` if the call does not fit into the budget.
   */
  async answer(turn: number, tools: ToolDefinition[], source: AnswerSource): Promise<AskedTurn | undefined> {
    const { path, recordsFailures } = this.#place;
    /** Present if the answer is new. */
    let fresh: RecordedAnswer | null | undefined;
    const ask = async (): Promise<StepResult | null> => {
      // The memory may have spent tokens to shorten the conversation.
      const before = turn === 1 ? noUsage() : { ...source.usage };
      const asked = await source.ask(tools);
      if (asked !== undefined) {
        const { answer, calls, asks, isOverBudget } = asked;
        const spent = usageSince(source.usage, before);
        const startedAt = turn === 1 ? this.#timer.startedAt : undefined;
        const steps = stepNames(calls, source);
        fresh = { answer, calls, asks, isOverBudget, spent, steps, startedAt };
        const facts = { ...this.#facts, model: source.model, usage: shownUsage(spent) };
        return new StepResult(compact(fresh), facts, isJson(answer));
      }
      // A larger budget lets the next attempt go on.
      if (!recordsFailures) throw outOfBudget;
      fresh = null;
      return null;
    };
    try {
      const read = await this.#record('model', `${path}turn ${turn}`, ask, recordsFailures, this.#facts);
      // Written by `ask`.
      const found = fresh as RecordedAnswer | null | undefined;
      const recorded = found === undefined ? readAnswer(read) : found;
      if (recorded === null) return undefined;
      this.#steps = recorded.steps;
      if (found !== undefined) return recorded;
      if (recorded.startedAt !== undefined) this.#timer.resume(recorded.startedAt);
      source.replay(recorded, recorded.spent);
      return { ...recorded, isReplayed: true, isOld: !recordsFailures };
    } catch (error) {
      if (error === outOfBudget) return undefined;
      throw error;
    }
  }

  /**
   * Records the result of a call of the last answer.
   *
   * @param execute receives the context in which the tool emits, and what receives the spending of agents that it runs
   */
  async call(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (scope: TurnScope, spent: CallSpending) => ExecutedCall | Promise<ExecutedCall>,
    isRetryable: boolean,
  ): Promise<ExecutedCall> {
    const { run } = this.#place;
    const id = this.#idOf(turn, index);
    let fresh: RecordedCall | undefined;
    const record = async (scope: TurnScope): Promise<StepResult> => {
      if (!isRetryable) {
        if (run.isStarted(id)) {
          fresh = interrupted;
          return new StepResult(interrupted, undefined, true);
        }
        await run.start(id);
      }
      const spent = noUsage();
      const executed = await execute(scope, spent);
      // The next attempt executes the call again.
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      fresh = toRecorded(executed, spent);
      return fresh.error === undefined
        ? new StepResult(fresh, undefined, true)
        : new StepResult(fresh, isToolError, true, false);
    };
    const read = await this.#record('tool', id, record, false);
    // Written by `record`.
    return fresh === undefined ? toReplayed(read() as RecordedCall, call) : toExecuted(fresh, call);
  }

  /** Records the result of a call whose execution records steps of its own. */
  async contain(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (place: RunPlace, spent: CallSpending) => Promise<ExecutedCall>,
  ): Promise<ExecutedCall> {
    const { run, recordsFailures } = this.#place;
    const id = this.#idOf(turn, index);
    const path = `${id} / `;
    let fresh: RecordedCall | undefined;
    const contained = run.contain(id, path, async () => {
      const spent = noUsage();
      const executed = await execute({ run, path, recordsFailures }, spent);
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      fresh = toRecorded(executed, spent);
      return new StepResult(fresh, fresh.error === undefined ? undefined : isToolError, true);
    });
    const read = await this.#waits.wait(contained);
    return fresh === undefined ? toReplayed(read() as RecordedCall, call) : toExecuted(fresh, call);
  }

  /** Returns `true` if the result of a call of the last answer is recorded. */
  isAnswered(turn: number, index: number): boolean {
    return this.run.isRecorded('tool', this.#idOf(turn, index));
  }

  /** Returns the id of a request to decide on a call. */
  approvalId(turn: number, index: number): string {
    return deriveId('approval', this.run.key, this.#idOf(turn, index));
  }

  /** Returns `true` if the request to decide on a call can be emitted. */
  canRequest(turn: number, index: number, payload: unknown): boolean {
    return this.run.canRequest(this.#idOf(turn, index), payload);
  }

  /** Waits for the decision on a call. */
  decision(turn: number, index: number, wait: ApprovalWait): PromiseLike<unknown> {
    return this.#waits.wait(this.run.decision(this.#idOf(turn, index), wait));
  }

  /** Records that the conversation is stored. */
  async storeConversation(store: () => Promise<void>): Promise<void> {
    await this.#record('memory', this.#conversationId, store, this.recordsFailures);
  }

  /** The conversation is stored. */
  get isConversationStored(): boolean {
    return this.run.isRecorded('memory', this.#conversationId);
  }

  get #conversationId(): string {
    return `${this.#place.path}conversation`;
  }

  #record(
    kind: DurableStep['kind'],
    id: string,
    call: (scope: TurnScope) => unknown,
    recordsFailure: boolean,
    turn?: TurnFacts,
  ): Promise<() => unknown> {
    const resource = this.#resource;
    const inAgent = (scope: TurnScope): unknown => resource.runInAsyncScope(call, undefined, scope);
    // A run that is aborted by its time-out does not leave the process.
    return this.run.record({ kind, id, call: inAgent, recordsFailure, turn, waits: this.#waits });
  }

  #idOf(turn: number, index: number): string {
    return `${this.#place.path}turn ${turn} / ${this.#steps[index] ?? index}`;
  }
}

const unknownTool = 'unknown tool';
const noSteps: readonly string[] = [];

const interruptedError = 'interrupted: the call may or may not have been executed, and must not be repeated';
const interrupted: RecordedCall = {
  content: toErrorContent(interruptedError),
  error: interruptedError,
  durationMs: 0,
};

function readAnswer(read: () => unknown): RecordedAnswer | null {
  // Written by `answer`.
  const found = read() as CompactAnswer | null;
  return found && expand(found);
}

/** Returns a name per call: that of its tool, with an ordinal if the turn calls the tool more than once. */
function stepNames(calls: readonly ToolCall[], source: AnswerSource): readonly string[] {
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

const isToolError: TurnFacts = { isToolError: true };
