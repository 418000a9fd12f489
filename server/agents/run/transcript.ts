import { quote } from '../../errors.js';
import type { DurableRun } from '../../hub/events/durable-place.js';
import { abortable } from '../abortable.js';
import { type AgentContext, lineageOf } from '../agent/agent-context.js';
import type { AgentMemory } from '../memory/conversation-memory.js';
import {
  type ExchangeState,
  newCallId,
  openInRun,
  type ResumedExchange,
  StoredExchange,
  type StoredStep,
} from '../memory/stored-exchange.js';
import { wellFormed } from '../model/foreign-values.js';
import type { ExchangeMark, Message, ToolCall, ToolResult } from '../model/message.js';
import { type CheckedPart, loadParts, textOf } from '../model/part.js';
import type { TokenUsage } from '../model/token-usage.js';
import { toErrorContent } from '../tools/tool-executor.js';
import type { RunRequest } from './run-request.js';
import type { TurnRecorder } from './turn-recorder.js';

/** State of an answer when it is stored: the end of the run, if the run ends with it, and why it was refused. */
export type AnswerMark = Pick<ExchangeMark, 'status' | 'truncated' | 'refusal'>;

/** Content of a tool message. */
export interface CallContent {
  readonly content: string;
  /** The call's result, which may have parts. */
  readonly result?: Pick<ToolResult, 'parts'>;
  /** Note for the model in this run only, not stored. */
  readonly note?: string;
  /** `true` if the call was interrupted, so that a resumed run executes it again. */
  readonly isInterrupted?: boolean;
}

/**
 * Messages of one run. At the end of the run every call has exactly one tool message. With a memory each message is
 * stored before the run continues, so that a crash loses no executed call; an abort does not wait for the memory.
 */
export class Transcript {
  /** Messages that the model receives. */
  readonly messages: Message[] = [];
  /** Index of the run's input in the messages. */
  inputIndex = 0;
  /** Last text of the model, `''` before the first. */
  lastText = '';
  /** Model turns, those of earlier attempts included. */
  turns = 0;
  /** Requested tool calls, those of earlier attempts included. */
  toolCalls = 0;
  /** Agents of the exchange in order, if the first one is not the only one. */
  agents: readonly string[] | undefined;
  /** Number of messages with the system prompt: none if it is empty. A conversation may begin with one of its own. */
  #promptLength = 0;
  readonly #isResumable: boolean;
  readonly #usage: () => TokenUsage;
  readonly #signal: AbortSignal | undefined;
  #store: StoredExchange | undefined;
  /** Messages to store at the end of the run. Absent if each is stored at once. */
  #deferred: StoredStep[] | undefined;
  #openCalls: readonly ToolCall[] = [];
  #recorded: ReadonlyMap<string, Message> | undefined;
  #callIds: Set<string> | undefined;

  /**
   * @param isResumable whether another attempt can resume the exchange
   * @param usage returns the tokens of all attempts so far
   */
  constructor(isResumable: boolean, usage: () => TokenUsage, signal: AbortSignal | undefined) {
    this.#isResumable = isResumable;
    this.#usage = usage;
    this.#signal = signal;
  }

  /**
   * Collects the first messages for the model: the system prompt, which is not stored, the conversation, and the input.
   * Returns the exchange of an earlier attempt, if there is one.
   *
   * @param run present if the run is durable: its record replays its messages, and the memory receives them at the end
   */
  async begin(
    systemPrompt: string,
    input: string | readonly CheckedPart[],
    store: StoredExchange | undefined,
    run?: DurableRun,
  ): Promise<ResumedExchange | undefined> {
    if (systemPrompt !== '') this.#push({ role: 'system', content: systemPrompt });
    this.#promptLength = this.messages.length;
    this.#store = store;
    if (run !== undefined && store !== undefined) this.#deferred = [];
    for (const message of store?.earlier ?? []) this.messages.push(wellFormed(message));
    this.inputIndex = this.messages.length;
    const resumed = run === undefined ? store?.resumed : undefined;
    if (resumed === undefined) {
      const message: Message = { role: 'user', content: typeof input === 'string' ? input : textOf(input) };
      // Blobs are read: the run must not leave the process meanwhile.
      if (typeof input !== 'string') message.parts = await (run?.hold(() => loadParts(input)) ?? loadParts(input));
      const stored = this.add(message);
      if (stored !== undefined) await stored;
      return undefined;
    }
    for (const message of resumed.messages) this.messages.push(wellFormed(message));
    this.lastText = resumed.lastText;
    this.turns = resumed.mark.turns;
    this.toolCalls = resumed.mark.toolCalls;
    this.agents = resumed.agents;
    if (resumed.openCalls.length > 0) {
      this.#openCalls = resumed.messages.at(-1)?.toolCalls ?? [];
      this.#recorded = resumed.recorded;
    } else if (resumed.mark.status === undefined && resumed.messages.at(-1)?.role === 'assistant') {
      this.addNote('Your last answer was interrupted. Continue with it.');
    }
    return resumed;
  }

  /** Replaces the system prompt: another agent continues. */
  changePrompt(systemPrompt: string): void {
    const prompt: Message[] = systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt.toWellFormed() }];
    this.messages.splice(0, this.#promptLength, ...prompt);
    this.inputIndex += prompt.length - this.#promptLength;
    this.#promptLength = prompt.length;
  }

  // Not async, like `answerCalls`: without a memory there is nothing to wait for, and a turn takes microseconds.
  add(added: Message, mark?: AnswerMark): PromiseLike<void> | undefined {
    const message = this.#push(added);
    if (message.role === 'assistant') {
      this.#openCalls = message.toolCalls ?? [];
      this.toolCalls += this.#openCalls.length;
      // A refused answer is no output.
      if (message.content !== '' && mark?.refusal === undefined) this.lastText = message.content;
    }
    return this.#write([message], mark);
  }

  /**
   * Adds a message with well-formed texts: everything that the model receives and the memory stores passes here. Its
   * calls come from {@link distinct}. Stored messages are checked as a whole when the run begins.
   */
  #push(message: Message): Message {
    const { content, providerMetadata } = message;
    if (!content.isWellFormed()) message.content = content.toWellFormed();
    if (providerMetadata !== undefined) message.providerMetadata = wellFormed(providerMetadata);
    this.messages.push(message);
    return message;
  }

  /** Adds a note for the model that is not part of the conversation. */
  addNote(content: string): void {
    this.#push({ role: 'user', content });
  }

  /**
   * Adds a tool message per open call.
   *
   * @param calls calls that were answered, in the order of the open calls
   * @param contents content per answered call, at the same position
   */
  answerCalls(
    calls: readonly ToolCall[],
    contents: readonly (CallContent | undefined)[],
  ): PromiseLike<void> | undefined {
    const answers = this.#answer(calls, contents, toErrorContent('no result'));
    return answers.length === 0 ? undefined : this.#write(answers);
  }

  /** Answers the calls that are open after a failure, so that none stays without a result. Waits for the memory. */
  async close(reason: string): Promise<void> {
    const answers = this.#answer([], [], toErrorContent(reason));
    if (this.#deferred !== undefined) return;
    await (answers.length > 0 ? this.#store?.write(answers, this.#state()) : this.#store?.written);
  }

  /** Stores the messages of a durable run that the memory does not have yet. */
  async flush(): Promise<void> {
    await this.#store?.writeMissing(this.#deferred ?? []);
  }

  /** Adds the tool messages, and returns those to store. */
  #answer(calls: readonly ToolCall[], contents: readonly (CallContent | undefined)[], missing: string): Message[] {
    const answers: Message[] = [];
    let next = 0;
    for (const { id } of this.#openCalls) {
      const isAnswered = calls[next]?.id === id;
      const answer = isAnswered ? contents[next] : undefined;
      if (isAnswered) next++;
      const recorded = this.#recorded?.get(id);
      if (recorded !== undefined) {
        const { content, parts } = recorded;
        this.#push({ role: 'tool', toolCallId: id, content, ...(parts && { parts }) });
        continue;
      }
      const {
        content,
        result,
        note = '',
        isInterrupted = false,
      }: CallContent = answer ?? { content: missing, isInterrupted: true };
      const message: Message = { role: 'tool', toolCallId: id, content: content + note };
      if (result?.parts !== undefined) message.parts = result.parts;
      this.#push(message);
      if (this.#store === undefined || (isInterrupted && this.#isResumable)) continue;
      answers.push(note === '' ? message : { ...message, content: content.toWellFormed() });
    }
    this.#openCalls = [];
    this.#recorded = undefined;
    return answers;
  }

  #write(messages: readonly Message[], mark?: AnswerMark): PromiseLike<void> | undefined {
    if (this.#deferred !== undefined) {
      const state = { ...this.#state(), ...mark };
      for (const message of messages) this.#deferred.push({ message, state });
      return undefined;
    }
    return this.#store && abortable(this.#store.write(messages, { ...this.#state(), ...mark }), this.#signal);
  }

  #state(): ExchangeState {
    const { turns, toolCalls, agents } = this;
    return { turns, toolCalls, usage: this.#usage(), ...(agents && { agents }) };
  }

  /** Marks the ids of recorded calls as used. */
  reserve(calls: readonly ToolCall[]): void {
    for (const { id } of calls) this.#callIds?.add(id);
  }

  /**
   * Returns the calls to execute. A call that the model repeats within one answer is executed once. An id that is
   * used already is replaced, because vendors match calls and results by id.
   */
  distinct(requested: readonly ToolCall[]): ToolCall[] {
    if (requested.length === 0) return [];
    const callIds = this.#usedCallIds();
    const only = requested[0];
    if (requested.length === 1 && only !== undefined && isWellFormedCall(only) && isFree(only.id, callIds)) {
      callIds.add(only.id);
      return [only];
    }
    const calls = wellFormed(requested);
    const inThisAnswer = new Map<string, ToolCall>();
    const distinct: ToolCall[] = [];
    for (const call of calls) {
      const twin = inThisAnswer.get(call.id);
      if (twin !== undefined && twin.name === call.name && twin.arguments === call.arguments) continue;
      if (call.id !== '' && twin === undefined) inThisAnswer.set(call.id, call);
      const id = isFree(call.id, callIds) ? call.id : newCallId();
      callIds.add(id);
      distinct.push(id === call.id ? call : { ...call, id });
    }
    return distinct;
  }

  #usedCallIds(): Set<string> {
    if (this.#callIds !== undefined) return this.#callIds;
    const used = new Set<string>();
    for (const { toolCalls } of this.messages)
      if (toolCalls !== undefined) for (const { id } of toolCalls) used.add(id);
    this.#callIds = used;
    return used;
  }
}

/** Parts of a run that its conversation needs. */
export interface RunConversationParts {
  readonly memory: AgentMemory;
  readonly agentName: string;
  readonly request: RunRequest;
  readonly exchangeId: string;
  readonly transcript: Transcript;
  readonly ctx: AgentContext;
  /** Present if the run is durable. */
  readonly recorder: TurnRecorder | undefined;
}

/** Conversation of a run whose agent has a memory. */
export class RunConversation {
  readonly #parts: RunConversationParts;
  /** Present while the run has the conversation. */
  #exchange: StoredExchange | undefined;

  constructor(parts: RunConversationParts) {
    this.#parts = parts;
  }

  /** Opens the conversation, unless a durable run has stored its part of it already. */
  async open(): Promise<StoredExchange | undefined> {
    const { memory, agentName, request, exchangeId, ctx, recorder } = this.#parts;
    const { conversationId, hubCtx, signal, regenerate } = request;
    const options = {
      memory,
      agentName,
      conversationId: conversationId ?? crypto.randomUUID(),
      isShared: conversationId !== undefined,
      exchangeId,
      owner: recorder?.key,
      omit: lineageOf(hubCtx)?.debateId,
      replacesLast: regenerate,
      signal,
      ctx,
    };
    if (recorder === undefined) this.#exchange = await StoredExchange.open(options);
    else if (!recorder.isConversationStored) {
      this.#exchange = await openInRun(recorder.run, options);
      recorder.run.onLeave(() => void this.release());
    }
    return this.#exchange;
  }

  /** Passes the messages of a durable run to the memory. Other runs have stored each of them. */
  async store(): Promise<void> {
    const { recorder, transcript } = this.#parts;
    await recorder?.storeConversation(() => transcript.flush());
  }

  /** Passes the messages of a durable run that failed to the memory. */
  async storeFailed(): Promise<void> {
    const { recorder, transcript } = this.#parts;
    // The next attempt replays the run, and adds what follows. The function of a workflow goes on, and may not repeat it.
    if (recorder?.recordsFailures === false) await recorder.run.hold(() => transcript.flush());
    else await this.store();
  }

  async release(): Promise<void> {
    const { agentName, ctx } = this.#parts;
    try {
      await this.#exchange?.release();
    } catch (err) {
      ctx.logger.warn({ err }, `agent ${quote(agentName)} could not release its conversation at once`);
    }
  }
}

function isFree(id: string, used: ReadonlySet<string>): boolean {
  return id !== '' && !used.has(id);
}

function isWellFormedCall({ id, name, arguments: args }: ToolCall): boolean {
  return id.isWellFormed() && name.isWellFormed() && args.isWellFormed();
}
