import { abortable } from './abortable.js';
import type { AgentMemory } from './memory/agent-memory.js';
import { MemoryWriter } from './memory/memory-writer.js';
import { repairPairs } from './memory/repair-pairs.js';
import { resumeExchange } from './memory/resume-exchange.js';
import type { Message, ToolCall } from './message.js';
import { toErrorText } from './tool-result-text.js';

/**
 * The messages of one run, well paired at its end: every call has exactly one tool message. With a
 * memory each message is stored before the run goes on, so that a crash forgets no call that was made;
 * an abort does not wait for the memory.
 */
export class Transcript {
  /** What the model is sent. */
  readonly messages: Message[] = [];
  /** The last text of the model, `''` before the first. */
  lastText = '';
  /** Whether an earlier attempt got the answer already: it is `lastText`. */
  isAnswered = false;
  readonly #memory: AgentMemory | undefined;
  readonly #writer: MemoryWriter | undefined;
  readonly #agentName: string;
  readonly #runId: string;
  readonly #signal: AbortSignal | undefined;
  #openCalls: readonly ToolCall[] = [];
  #callIds: Set<string> | undefined;

  constructor(agentName: string, runId: string, memory: AgentMemory | undefined, signal: AbortSignal | undefined) {
    this.#agentName = agentName;
    this.#runId = runId;
    this.#memory = memory;
    this.#writer = memory && new MemoryWriter(memory, agentName, runId);
    this.#signal = signal;
  }

  /**
   * Puts together what the model is sent first. The system prompt is not stored.
   *
   * @param idempotencyKey where an earlier attempt has stored the input under it, that attempt is gone on with
   */
  async begin(systemPrompt: string, input: string, idempotencyKey: string | undefined): Promise<void> {
    if (systemPrompt !== '') this.messages.push({ role: 'system', content: systemPrompt });
    if (this.#memory === undefined) {
      await this.add({ role: 'user', content: input });
      return;
    }
    const stored = repairPairs(await abortable(this.#memory.getMessages(this.#agentName, this.#runId), this.#signal));
    const resumed = idempotencyKey === undefined ? undefined : resumeExchange(stored, idempotencyKey);
    this.messages.push(...(resumed ?? stored));
    const last = resumed?.at(-1);
    if (last === undefined) {
      await this.add({ role: 'user', content: input, ...(idempotencyKey !== undefined && { idempotencyKey }) });
    } else if (last.role === 'assistant') {
      this.isAnswered = true;
      this.lastText = last.content;
    }
  }

  // Not async, nor is the next: without a memory there is nothing to wait for, turn after turn.
  add(message: Message): PromiseLike<void> | undefined {
    this.messages.push(message);
    if (message.role === 'assistant') {
      this.#openCalls = message.toolCalls ?? [];
      if (message.content !== '') this.lastText = message.content;
    }
    return this.#writer && abortable(this.#writer.write([message]), this.#signal);
  }

  /** Adds a tool message for each open call. */
  answerCalls(contents: readonly string[]): PromiseLike<void> | undefined {
    const answers = this.#answer(contents);
    return this.#writer && abortable(this.#writer.write(answers), this.#signal);
  }

  /**
   * Answers what is still open after a failure, so that no call is left an orphan. Settles when all is
   * written, however long that takes.
   */
  async close(why: string): Promise<void> {
    const answers = this.#answer(this.#openCalls.map(() => toErrorText(why)));
    await this.#writer?.write(answers);
  }

  #answer(contents: readonly string[]): Message[] {
    const answers = this.#openCalls.map(({ id }, index): Message => {
      return { role: 'tool', toolCallId: id, content: contents[index] ?? toErrorText('no result') };
    });
    this.#openCalls = [];
    this.messages.push(...answers);
    return answers;
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
