import { abortable } from '../abortable.js';
import type { AgentMemory } from '../memory/agent-memory.js';
import { MemoryWriter } from '../memory/memory-writer.js';
import { repairPairs } from '../memory/repair-pairs.js';
import { resumeExchange } from '../memory/resume-exchange.js';
import type { Message, ToolCall } from '../model/message.js';
import { toErrorContent } from '../tools/tool-content.js';

/**
 * Messages of one run. At the end of the run every call has exactly one tool message. With a memory each message is
 * stored before the run continues, so that a crash loses no executed call; an abort does not wait for the memory.
 */
export class Transcript {
  /** Messages that the model receives. */
  readonly messages: Message[] = [];
  /** Last text of the model, `''` before the first. */
  lastText = '';
  /** `true` if an earlier attempt stored the answer: it is `lastText`. */
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
   * Collects the first messages for the model: the system prompt, which is not stored, the conversation, and the input.
   *
   * @param idempotencyKey resumes the attempt that stored its input under this key, if there is one
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

  // Not async, like `answerCalls`: without a memory there is nothing to wait for, and a turn takes microseconds.
  add(message: Message): PromiseLike<void> | undefined {
    this.messages.push(message);
    if (message.role === 'assistant') {
      this.#openCalls = message.toolCalls ?? [];
      if (message.content !== '') this.lastText = message.content;
    }
    return this.#writer && abortable(this.#writer.write([message]), this.#signal);
  }

  /** Adds a tool message per open call. @param contents the contents by call id */
  answerCalls(contents: ReadonlyMap<string, string>): PromiseLike<void> | undefined {
    const answers = this.#answer(({ id }) => contents.get(id));
    return this.#writer && abortable(this.#writer.write(answers), this.#signal);
  }

  /** Answers the calls that are open after a failure, so that none stays without a result. Waits for the memory. */
  async close(reason: string): Promise<void> {
    const answers = this.#answer(() => toErrorContent(reason));
    await this.#writer?.write(answers);
  }

  #answer(contentOf: (call: ToolCall) => string | undefined): Message[] {
    const answers = this.#openCalls.map((call): Message => {
      return { role: 'tool', toolCallId: call.id, content: contentOf(call) ?? toErrorContent('no result') };
    });
    this.#openCalls = [];
    this.messages.push(...answers);
    return answers;
  }

  /**
   * Returns the calls to execute. A call that the model repeats within one answer is executed once. An id that is
   * used already is replaced, because vendors match calls and results by id.
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

/** Returns an id of less than 40 characters, the limit of OpenAI: a UUID with hyphens and prefix has 41. */
function newCallId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '')}`;
}
