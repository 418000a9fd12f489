import { abortable } from './abortable.js';
import type { AgentMemory } from './memory/agent-memory.js';
import { repairPairs } from './memory/repair-pairs.js';
import type { Message, ToolCall } from './message.js';
import { toErrorText } from './tool-result-text.js';

/**
 * The messages of one run, well paired at its end: every call has exactly one tool message. With a
 * memory each message is stored before the run goes on, so that a crash forgets no call that was made.
 */
export class Transcript {
  /** What the model is sent. */
  readonly messages: Message[] = [];
  /** The last text of the model, `''` before the first. */
  lastText = '';
  readonly #memory: AgentMemory | undefined;
  readonly #agentName: string;
  readonly #runId: string;
  #openCalls: readonly ToolCall[] = [];
  #callIds: Set<string> | undefined;

  constructor(agentName: string, runId: string, memory: AgentMemory | undefined) {
    this.#agentName = agentName;
    this.#runId = runId;
    this.#memory = memory;
  }

  /** Puts together what the model is sent first. The system prompt is not stored. */
  async begin(systemPrompt: string, input: string, signal: AbortSignal | undefined): Promise<void> {
    if (systemPrompt !== '') this.messages.push({ role: 'system', content: systemPrompt });
    if (this.#memory !== undefined) {
      const stored = await abortable(this.#memory.getMessages(this.#agentName, this.#runId), signal);
      this.messages.push(...repairPairs(stored));
    }
    await this.add({ role: 'user', content: input });
  }

  // Not async, nor is the next: without a memory there is nothing to wait for, turn after turn.
  add(message: Message): Promise<void> | undefined {
    this.messages.push(message);
    if (message.role === 'assistant') {
      this.#openCalls = message.toolCalls ?? [];
      if (message.content !== '') this.lastText = message.content;
    }
    return this.#memory?.addMessage(this.#agentName, this.#runId, message);
  }

  /** Adds a tool message for each open call. */
  answerCalls(contents: readonly string[]): Promise<void> | undefined {
    const answers = this.#openCalls.map(({ id }, index): Message => {
      return { role: 'tool', toolCallId: id, content: contents[index] ?? toErrorText('no result') };
    });
    this.#openCalls = [];
    this.messages.push(...answers);
    return this.#memory && this.#store(this.#memory, answers);
  }

  async #store(memory: AgentMemory, messages: readonly Message[]): Promise<void> {
    for (const message of messages) await memory.addMessage(this.#agentName, this.#runId, message);
  }

  /** Answers what is still open after a failure, so that no call is left an orphan. */
  async close(why: string): Promise<void> {
    if (this.#openCalls.length > 0) await this.answerCalls(this.#openCalls.map(() => toErrorText(why)));
  }

  /**
   * The calls to make: one that a model repeats within its answer is made once, and an id that another
   * call has already is replaced, since vendors pair calls and results by it.
   */
  distinct(calls: readonly ToolCall[]): ToolCall[] {
    this.#callIds ??= new Set(this.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
    const inThisAnswer = new Map<string, ToolCall>();
    const distinct: ToolCall[] = [];
    for (const call of calls) {
      const twin = inThisAnswer.get(call.id);
      if (twin !== undefined && twin.name === call.name && twin.arguments === call.arguments) continue;
      if (call.id !== '' && twin === undefined) inThisAnswer.set(call.id, call);
      const isFree = call.id !== '' && !this.#callIds.has(call.id);
      const id = isFree ? call.id : newCallId();
      this.#callIds.add(id);
      distinct.push(isFree ? call : { ...call, id });
    }
    return distinct;
  }
}

/** OpenAI takes ids of 40 characters at most, which a UUID with hyphens would pass by one. */
function newCallId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '')}`;
}
