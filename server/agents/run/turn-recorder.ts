import { AsyncResource } from 'node:async_hooks';
import {
  type ApprovalWait,
  type DurableRun,
  type Recorded,
  type RunTexts,
  type SentText,
  StepResult,
  type StepScope,
} from '../../hub/events/durable-place.js';
import { shownUsage, type TurnFacts } from '../../hub/events/reported-agents.js';
import type { Limit } from '../../hub/limits/limit.js';
import type { Clock } from '../../transports/clock.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { AbortableWaits } from '../abortable.js';
import type { ToolCall } from '../model/message.js';
import { SpendingMeter } from '../model/token-ledger.js';
import { addSpending, type CallSpending, noUsage, type TokenUsage, usageSince } from '../model/token-usage.js';
import { type ExecutedCall, refused } from '../tools/tool-executor.js';
import type { AgentPublisher } from './agent-publisher.js';
import {
  type AnswerSource,
  type AskedTurn,
  type CompactAnswer,
  isJsonAnswer,
  type LimitedTurn,
  markedCalls,
  type RecordedCall,
  stepNames,
  type TurnAnswer,
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
  /** The agent reads the texts that are sent to the run: no other agent of the run started it. */
  readonly readsTexts: boolean;
}

// Compared by identity only: an error per answer cost more than its record.
const outOfBudget = new Error('the call does not fit into the budget');

/** Records the turns of an agent's run as steps of a durable run. */
export class TurnRecorder {
  readonly #place: RunPlace;
  /** Facts about each answer. */
  #facts: { readonly agent: string };
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  #notes: SpendingNotes;
  /** Present if the run publishes its events. */
  #publisher: AgentPublisher | undefined;
  /** Spans of the steps are children of the agent's span, not of the engine's. */
  #resource = new AsyncResource('hubline.turn');
  /** Agent that took the conversation over. */
  #taker: string | undefined;
  #steps: readonly string[] = [];
  /** Positions of the calls of the last answer whose start is recorded. */
  #marked: readonly number[] = [];
  /** The last answer was refused: readers see none of its calls. */
  #isRefused = false;
  /** Texts that the next turn reads, because of which there is one. */
  #steering: readonly SentText[] | undefined;
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
    publisher: AgentPublisher | undefined,
  ) {
    this.#place = place;
    this.#publisher = publisher;
    this.#facts = { agent };
    this.#timer = timer;
    this.#waits = waits;
    this.#notes = new SpendingNotes(place.run, count);
  }

  /** Records the turns of another agent from now on, to which the conversation was handed over. */
  continueAs(agent: string, count: (spent: CallSpending) => void, publisher: AgentPublisher | undefined): void {
    this.#taker = agent;
    this.#facts = { agent };
    this.#notes = new SpendingNotes(this.run, count);
    this.#publisher = publisher;
    this.#resource = new AsyncResource('hubline.turn');
  }

  /**
   * Records the agent that has the conversation when the run starts, or returns the one with which an earlier delivery
   * started. `undefined`: the agent of the conversation.
   */
  async startWith(holder: string | undefined): Promise<string | undefined> {
    const { path, run } = this.#place;
    const id = `${path}agent`;
    const [note] = run.notesOn(id);
    // Written below.
    if (note !== undefined) return (note as { readonly agent: string }).agent;
    if (holder === undefined || run.isRecorded('model', this.#answerId(1))) return undefined;
    await run.note(id, { agent: holder });
    return holder;
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
  async answer(turn: number, source: AnswerSource): Promise<AskedTurn | undefined> {
    const { recordsFailures } = this.#place;
    const id = this.#answerId(turn);
    let isAsked = false;
    const ask = async (scope: StepScope): Promise<StepResult<CompactAnswer | null>> => {
      isAsked = true;
      this.#publisher?.enter(scope.emitter);
      const before = { ...source.usage };
      this.#notes.take(id);
      const texts = this.#texts && (this.#steering ?? (await this.#texts.take()));
      this.#steering = undefined;
      if (texts !== undefined && texts.length > 0) {
        source.receive(texts);
        this.#publisher?.received(turn, texts);
      }
      let asked: TurnAnswer | undefined;
      try {
        asked = await source.ask();
      } finally {
        if (asked === undefined && texts !== undefined) this.#texts?.release(texts);
      }
      if (asked !== undefined) {
        this.#publisher?.answered(turn, asked);
        const spent = usageSince(source.usage, before);
        const startedAt = turn === 1 ? this.#timer.startedAt : undefined;
        const steps = stepNames(asked.calls, source);
        const marked = markedCalls(asked, source);
        const compact = toCompactAnswer(asked, { spent, texts, steps, marked, startedAt });
        // The first turn shows what the memory spent to shorten the conversation.
        const shown = shownUsage(turn === 1 ? source.usage : spent);
        const { agent } = this.#facts;
        const facts: { -readonly [Key in keyof TurnFacts]: TurnFacts[Key] } = {
          agent,
          model: source.model,
          usage: shown,
        };
        const { vendorCalls } = asked.answer;
        if (vendorCalls !== undefined) facts.vendorCalls = vendorCalls.length;
        return new StepResult(compact, facts, isJsonAnswer(asked.answer));
      }
      // A larger budget lets the next attempt go on.
      if (!recordsFailures) throw outOfBudget;
      await this.#place.run.note(this.#budgetId, source.refused ?? {});
      return new StepResult(null, undefined, true);
    };
    try {
      const { value, isReplayed } = await this.#record('model', id, ask, recordsFailures, this.#facts, source.limit);
      if (value === null) {
        if (!isAsked) this.#notes.take(id);
        // Earlier versions of the package note none.
        const [note] = this.#place.run.notesOn(this.#budgetId);
        if (isReplayed && note !== undefined) source.replayRefused(note as LimitedTurn); // written above
        return undefined;
      }
      const recorded = toRecordedAnswer(value);
      this.#steps = recorded.steps;
      this.#marked = recorded.marked;
      this.#isRefused = recorded.refusal !== undefined;
      this.#isReplayed = isReplayed;
      if (!isReplayed) return recorded;
      if (recorded.startedAt !== undefined) this.#timer.resume(recorded.startedAt);
      if (recorded.texts !== undefined) {
        this.#texts?.replay(recorded.texts);
        source.receive(recorded.texts);
      }
      source.replay(recorded, recorded.spent);
      return { ...recorded, isReplayed: true, isOld: !recordsFailures };
    } catch (error) {
      if (error === outOfBudget) return undefined;
      if (!isAsked) this.#notes.take(id);
      throw error;
    }
  }

  get #texts(): RunTexts | undefined {
    return this.#place.readsTexts ? this.run.texts : undefined;
  }

  /**
   * Returns `true` if another turn follows an answer that would end the run, because a text was sent to the run. An answer
   * that an earlier delivery recorded is followed by what that delivery did.
   */
  async isSteered(turn: number, { isReplayed }: AskedTurn): Promise<boolean> {
    const { run } = this;
    if (this.#texts === undefined || run.isRecorded('model', this.#answerId(turn + 1)))
      return this.#texts !== undefined;
    if (isReplayed === true && !run.isAtEnd) return false;
    // Of agents that run in parallel, one has the texts.
    const texts = await run.hold(() => run.texts.take());
    if (texts.length > 0) this.#steering = texts;
    return texts.length > 0;
  }

  get #budgetId(): string {
    return `${this.#place.path}refusing budget`;
  }

  /** Records the system prompt that a function returns, or returns the recorded one: it is that of all deliveries. */
  async systemPrompt(create: () => PromiseLike<string>): Promise<string> {
    const { path, run } = this.#place;
    const id = this.#taker === undefined ? `${path}system prompt` : `${path}system prompt of ${this.#taker}`;
    const [note] = run.notesOn(id);
    // Written below.
    if (note !== undefined) return (note as { readonly text: string }).text;
    const text = await run.hold(create);
    await run.note(id, { text });
    return text;
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
    execute: (scope: StepScope, meter: SpendingMeter) => ExecutedCall | Promise<ExecutedCall>,
    isRetryable: boolean,
    limit?: Limit,
  ): Promise<ExecutedCall> {
    const { run } = this.#place;
    const id = this.#idOf(turn, index);
    // The tool may have been one whose execution recorded steps.
    run.markUnreached(`${id} / `);
    const record = async (scope: StepScope): Promise<StepResult<RecordedCall>> => {
      const meter = this.#notes.meter(id);
      const isMarked = this.#marked.includes(index);
      // Other code that saw no need to record the start may have begun the call.
      const mayHaveBegun = run.isStarted(id) || (this.#isReplayed && !isMarked);
      if (!isRetryable && mayHaveBegun) {
        const recorded = toRecorded(refused(call, interrupted), meter.spent);
        this.#publish(scope, turn, recorded, call);
        return new StepResult(recorded, undefined, true);
      }
      if ((!isRetryable || isMarked) && !run.isStarted(id)) await run.start(id);
      const executed = await execute(scope, meter);
      // The next attempt executes the call again.
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      const recorded = toRecorded(executed, meter.spent);
      this.#publish(scope, turn, recorded, call);
      return recorded.error === undefined
        ? new StepResult(recorded, undefined, true)
        : new StepResult(recorded, isToolError, true, false);
    };
    return toExecuted(await this.#record('tool', id, record, false, undefined, limit), call);
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
    let recorded: RecordedCall | undefined;
    const execution = async (): Promise<StepResult<RecordedCall>> => {
      const meter = new SpendingMeter(this.#notes.take(id));
      const executed = await execute({ run, path, recordsFailures, readsTexts: false }, meter);
      if (executed.isInterrupted) throw this.#waits.signal?.reason;
      recorded = toRecorded(executed, meter.spent);
      return new StepResult(recorded, recorded.error === undefined ? undefined : isToolError, true);
    };
    const onRecord = (scope: StepScope): void => recorded && this.#publish(scope, turn, recorded, call);
    return toExecuted(await this.#waits.wait(run.contain(id, path, execution, onRecord)), call);
  }

  #publish(scope: StepScope, turn: number, recorded: RecordedCall, call: ToolCall): void {
    if (this.#isRefused) return;
    this.#publisher?.result(scope.emitter, turn, toExecuted({ value: recorded, isReplayed: false }, call));
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
  decision(turn: number, index: number, call: ToolCall, wait: ApprovalWait): PromiseLike<unknown> {
    const published = this.#publisher?.request(turn, call.id, wait.key);
    return this.#waits.wait(this.run.decision(this.#idOf(turn, index), { ...wait, published }));
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
    kind: 'model' | 'tool' | 'memory',
    id: string,
    call: (scope: StepScope) => Promise<StepResult<T>>,
    recordsFailure: boolean,
    facts?: TurnFacts,
    limit?: Limit,
  ): Promise<Recorded<T>> {
    const resource = this.#resource;
    const inAgent = (scope: StepScope): Promise<StepResult<T>> => resource.runInAsyncScope(call, undefined, scope);
    // A run that is aborted by its timeout does not leave the process.
    return this.run.record(kind, id, inAgent, { recordsFailure, facts, waits: this.#waits, limit });
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
