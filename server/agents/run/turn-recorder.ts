import { AsyncResource } from 'node:async_hooks';
import {
  type ApprovalWait,
  type DurableRun,
  type DurableStep,
  type Recorded,
  StepResult,
  type TurnScope,
} from '../../hub/events/durable-place.js';
import { shownUsage, type TurnFacts } from '../../hub/events/reported-agents.js';
import type { Clock } from '../../transports/clock.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { AbortableWaits } from '../abortable.js';
import type { ToolCall, ToolDefinition } from '../model/message.js';
import { SpendingMeter } from '../model/token-ledger.js';
import { addSpending, type CallSpending, noUsage, type TokenUsage, usageSince } from '../model/token-usage.js';
import { type ExecutedCall, refused } from '../tools/tool-executor.js';
import {
  type AnswerSource,
  type AskedTurn,
  type CompactAnswer,
  isJsonAnswer,
  markedCalls,
  type RecordedCall,
  stepNames,
  toCompactAnswer,
  toExecuted,
  toRecorded,
  toRecordedAnswer,
} from './recorded-turn.js';

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
  /** Facts about each answer. */
  readonly #facts: { readonly agent: string };
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  readonly #notes: SpendingNotes;
  /** Spans of the steps are children of the agent's span, not of the engine's. */
  readonly #resource = new AsyncResource('hubline.turn');
  #steps: readonly string[] = [];
  /** Positions of the calls of the last answer whose start is recorded. */
  #marked: readonly number[] = [];
  /** An earlier delivery recorded the last answer, and may have begun its calls. */
  #isReplayed = false;

  /**
   * @param agent name of the agent
   * @param count counts what earlier deliveries spent on a step without a recorded result
   */
  constructor(
    place: RunPlace,
    agent: string,
    timer: RunTimer,
    waits: AbortableWaits,
    count: (spent: CallSpending) => void,
  ) {
    this.#place = place;
    this.#facts = { agent };
    this.#timer = timer;
    this.#waits = waits;
    this.#notes = new SpendingNotes(place.run, count);
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
    const { recordsFailures } = this.#place;
    const id = this.#answerId(turn);
    let isAsked = false;
    const ask = async (): Promise<StepResult<CompactAnswer | null>> => {
      isAsked = true;
      const before = { ...source.usage };
      this.#notes.take(id);
      const asked = await source.ask(tools);
      if (asked !== undefined) {
        const spent = usageSince(source.usage, before);
        const startedAt = turn === 1 ? this.#timer.startedAt : undefined;
        const { answer, calls, asks, isOverBudget, provider } = asked;
        const steps = stepNames(calls, source);
        const marked = markedCalls(asked, source);
        const recorded = { answer, calls, asks, isOverBudget, provider, spent, steps, marked, startedAt };
        // The first turn shows what the memory spent to shorten the conversation.
        const shown = shownUsage(turn === 1 ? source.usage : spent);
        const facts = { ...this.#facts, model: source.model, usage: shown };
        return new StepResult(toCompactAnswer(recorded), facts, isJsonAnswer(answer));
      }
      // A larger budget lets the next attempt go on.
      if (!recordsFailures) throw outOfBudget;
      return new StepResult(null, undefined, true);
    };
    try {
      const { value, isReplayed } = await this.#record('model', id, ask, recordsFailures, this.#facts);
      if (value === null) {
        if (!isAsked) this.#notes.take(id);
        return undefined;
      }
      const recorded = toRecordedAnswer(value);
      this.#steps = recorded.steps;
      this.#marked = recorded.marked;
      this.#isReplayed = isReplayed;
      if (!isReplayed) return recorded;
      if (recorded.startedAt !== undefined) this.#timer.resume(recorded.startedAt);
      source.replay(recorded, recorded.spent);
      return { ...recorded, isReplayed: true, isOld: !recordsFailures };
    } catch (error) {
      if (error === outOfBudget) return undefined;
      if (!isAsked) this.#notes.take(id);
      throw error;
    }
  }

  /** Records the tokens of a model call that failed: no answer may follow in this delivery. */
  failed(turn: number, usage: TokenUsage): void {
    void this.#notes.add(this.#answerId(turn), usage);
  }

  /** Returns the meter of the agents that shorten the conversation. What they spend is part of no step's result. */
  meterOfMemory(): SpendingMeter {
    return this.#notes.meter(this.#conversationId);
  }

  /**
   * Records the result of a call of the last answer.
   *
   * @param execute receives the context in which the tool emits, and the meter of the agents that it runs
   */
  async call(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (scope: TurnScope, meter: SpendingMeter) => ExecutedCall | Promise<ExecutedCall>,
    isRetryable: boolean,
  ): Promise<ExecutedCall> {
    const { run } = this.#place;
    const id = this.#idOf(turn, index);
    // The tool may have been one whose execution recorded steps.
    run.markUnreached(`${id} / `);
    const record = async (scope: TurnScope): Promise<StepResult<RecordedCall>> => {
      const meter = this.#notes.meter(id);
      const isMarked = this.#marked.includes(index);
      // Other code that saw no need to record the start may have begun the call.
      const mayHaveBegun = run.isStarted(id) || (this.#isReplayed && !isMarked);
      if (!isRetryable && mayHaveBegun) {
        return new StepResult(toRecorded(refused(call, interrupted), meter.spent), undefined, true);
      }
      if ((!isRetryable || isMarked) && !run.isStarted(id)) await run.start(id);
      const executed = await execute(scope, meter);
      // The next attempt executes the call again.
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      const recorded = toRecorded(executed, meter.spent);
      return recorded.error === undefined
        ? new StepResult(recorded, undefined, true)
        : new StepResult(recorded, isToolError, true, false);
    };
    return toExecuted(await this.#record('tool', id, record, false), call);
  }

  /** Records the result of a call whose execution records steps of its own. */
  async contain(
    turn: number,
    index: number,
    call: ToolCall,
    execute: (place: RunPlace, meter: SpendingMeter) => Promise<ExecutedCall>,
  ): Promise<ExecutedCall> {
    const { run, recordsFailures } = this.#place;
    const id = this.#idOf(turn, index);
    const path = `${id} / `;
    const contained = run.contain(id, path, async () => {
      const meter = new SpendingMeter(this.#notes.take(id));
      const executed = await execute({ run, path, recordsFailures }, meter);
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      const recorded = toRecorded(executed, meter.spent);
      return new StepResult(recorded, recorded.error === undefined ? undefined : isToolError, true);
    });
    return toExecuted(await this.#waits.wait(contained), call);
  }

  /** The run of the agent has ended, perhaps before the turn that an earlier delivery reached with other limits. */
  end(): void {
    this.run.markUnreached(this.#place.path);
  }

  /** Returns `true` if the result of a call of the last answer is recorded. */
  isAnswered(turn: number, index: number): boolean {
    return this.run.isRecorded('tool', this.#idOf(turn, index));
  }

  /** Returns `true` if the result of a call of the last answer is recorded, or a request to decide on it. */
  isBegun(turn: number, index: number): boolean {
    return this.isAnswered(turn, index) || this.run.isRecorded('request', this.#idOf(turn, index));
  }

  /** Returns the id of a request to decide on a call. */
  approvalId(turn: number, index: number): string {
    return deriveId('approval', this.run.key, this.#idOf(turn, index));
  }

  /** Returns `true` if the request to decide on a call can be emitted. */
  canRequest(turn: number, index: number, payload: unknown): boolean {
    return this.run.canRequest(this.#idOf(turn, index), payload);
  }

  /** Skips a request to decide on a call that an earlier delivery emitted: the run has no events for decisions. */
  skipDecision(turn: number, index: number): void {
    this.run.skipDecision(this.#idOf(turn, index));
  }

  /** Waits for the decision on a call. */
  decision(turn: number, index: number, wait: ApprovalWait): PromiseLike<unknown> {
    return this.#waits.wait(this.run.decision(this.#idOf(turn, index), wait));
  }

  /** Records that the conversation is stored. */
  async storeConversation(store: () => Promise<void>): Promise<void> {
    const write = async (): Promise<StepResult<null>> => {
      await store();
      return new StepResult(null, undefined, true);
    };
    await this.#record('memory', this.#conversationId, write, this.recordsFailures);
  }

  /** The conversation is stored. */
  get isConversationStored(): boolean {
    return this.run.isRecorded('memory', this.#conversationId);
  }

  get #conversationId(): string {
    return `${this.#place.path}conversation`;
  }

  #record<T>(
    kind: DurableStep<T>['kind'],
    id: string,
    call: (scope: TurnScope) => Promise<StepResult<T>>,
    recordsFailure: boolean,
    turn?: TurnFacts,
  ): Promise<Recorded<T>> {
    const resource = this.#resource;
    const inAgent = (scope: TurnScope): Promise<StepResult<T>> => resource.runInAsyncScope(call, undefined, scope);
    // A run that is aborted by its timeout does not leave the process.
    return this.run.record({ kind, id, call: inAgent, recordsFailure, turn, waits: this.#waits });
  }

  #answerId(turn: number): string {
    return `${this.#place.path}turn ${turn}`;
  }

  #idOf(turn: number, index: number): string {
    return `${this.#answerId(turn)} / ${this.#steps[index] ?? index}`;
  }
}

const interrupted = 'interrupted: the call may or may not have been executed, and must not be repeated';

const isToolError: TurnFacts = { isToolError: true };

/** Spending on steps that have no recorded result, of which an earlier delivery recorded notes. */
class SpendingNotes {
  readonly #run: DurableRun;
  readonly #count: (spent: CallSpending) => void;

  /** @param count counts what earlier deliveries spent */
  constructor(run: DurableRun, count: (spent: CallSpending) => void) {
    this.#run = run;
    this.#count = count;
  }

  /** Counts what earlier deliveries spent on a step, and returns it. */
  take(id: string): CallSpending {
    const spent: CallSpending = noUsage();
    const notes = this.#run.notesOn(id);
    if (notes.length === 0) return spent;
    // Written by `add`.
    for (const note of notes) addSpending(spent, note as CallSpending);
    this.#count(spent);
    return spent;
  }

  /** Records spending on a step. Never rejects. */
  add(id: string, spending: CallSpending): Promise<void> | undefined {
    return this.#run.note(id, spending);
  }

  /** Returns a meter that records each addition, and starts with what earlier deliveries spent on the step. */
  meter(id: string): SpendingMeter {
    return new SpendingMeter(this.take(id), (spending) => this.add(id, spending));
  }
}

/** Measures the duration of a run, which may have started in another process. */
export class RunTimer {
  readonly #clock: Clock;
  readonly #startedMonotonic: number;
  #startedAt: number;
  #isResumed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMonotonic = clock.monotonic();
    this.#startedAt = clock.now();
  }

  /** Epoch milliseconds at which the run started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Continues the run that an earlier delivery started. */
  resume(startedAt: number): void {
    this.#startedAt = startedAt;
    this.#isResumed = true;
  }

  /** Milliseconds since the start. The wall clocks of two hosts may differ: never negative. */
  get elapsedMs(): number {
    if (this.#isResumed) return Math.max(0, this.#clock.now() - this.#startedAt);
    return this.#clock.monotonic() - this.#startedMonotonic;
  }
}
