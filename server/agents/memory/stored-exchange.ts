import { quote } from '../../errors.js';
import type { DurableRun } from '../../hub/events/durable-place.js';
import { abortable } from '../abortable.js';
import type { AgentContext } from '../agent/agent-context.js';
import { refusalNote } from '../agent/hooks.js';
import type { ExchangeMark, Message, ToolCall } from '../model/message.js';
import { ConversationQueue } from './conversation-lock.js';
import type { AgentMemory } from './conversation-memory.js';
import { type Exchange, groupExchanges, repairPairs } from './exchanges.js';

/** Conversation and exchange of one run. */
interface ExchangeOptions {
  readonly memory: AgentMemory;
  readonly agentName: string;
  readonly conversationId: string;
  /** `false` if no other run can know the conversation's id, so that the run need not wait for others. */
  readonly isShared: boolean;
  readonly exchangeId: string;
  /** Key of a durable run, of which one attempt lives at a time; `exchangeId` may be that of several calls. */
  readonly owner: string | undefined;
  /** Start of the ids of other exchanges that are left out of the conversation. */
  readonly omit: string | undefined;
  /** The exchange replaces the last one of the conversation. */
  readonly replacesLast: boolean;
  readonly signal: AbortSignal | undefined;
  /** Context of the run, for agents that the memory runs. */
  readonly ctx: AgentContext;
}

/** Exchange that an earlier attempt stored. */
export interface ResumedExchange {
  /**
   * Input, answers and results, with a note after each text that was refused. Ends before the results of the last answer
   * if some of its calls have none.
   */
  readonly messages: readonly Message[];
  /** Last text of an answer that was not refused, `''` before the first. */
  readonly lastText: string;
  /** State after the last stored message. */
  readonly mark: ExchangeMark;
  /** Agents that had the conversation, if the first one was not the only one. The last one made the last answer. */
  readonly agents: readonly string[] | undefined;
  /** Agent to which a call of the last answer handed the conversation over, while other calls have no result. */
  readonly handoff: string | undefined;
  /** Calls of the last answer that have no result. */
  readonly openCalls: readonly ToolCall[];
  /** Reason for which the last answer was refused. Its open calls must not be executed. */
  readonly refusal: string | undefined;
  /** Stored results of the last answer by call id, if some of its calls have none. */
  readonly recorded: ReadonlyMap<string, Message>;
}

/** State of a run that is stored with each message. */
export type ExchangeState = Omit<ExchangeMark, 'id' | 'index' | 'replaces'>;

/** Message with the state of the run after it. */
export interface StoredStep {
  readonly message: Message;
  readonly state: ExchangeState;
}

/** Exchange of a run in its memory. Blocks other runs of the conversation until it is released. */
export class StoredExchange {
  /** Conversation before the exchange. */
  readonly earlier: readonly Message[];
  readonly resumed: ResumedExchange | undefined;
  /** Agent that an earlier exchange handed the conversation over to; `undefined` if it is the one of the conversation. */
  readonly holder: string | undefined;
  readonly #options: ExchangeOptions;
  readonly #unlock: () => Promise<void> | void;
  /** Resolves when other runs of the conversation may start. */
  readonly released: Promise<void>;
  #resolveReleased: () => void = () => {};
  /** Id of the exchange that this one replaces. */
  readonly #replaced: string | undefined;
  #nextIndex: number;
  #written: Promise<void> = Promise.resolve();

  private constructor(options: ExchangeOptions, messages: readonly Message[], unlock: () => Promise<void> | void) {
    const { exchangeId, omit, replacesLast } = options;
    const exchanges = groupExchanges(messages);
    const own = exchanges.find(({ id }) => id === exchangeId);
    const others = exchanges.filter(
      (exchange) => exchange !== own && (omit === undefined || exchange.id?.startsWith(omit) !== true),
    );
    this.#options = options;
    this.#unlock = unlock;
    this.released = new Promise((resolve) => {
      this.#resolveReleased = resolve;
    });
    this.resumed = own && toResumed(own);
    this.#nextIndex = (this.resumed?.mark.index ?? -1) + 1;
    // An attempt that resumes its exchange has replaced another one already.
    const last = replacesLast && own === undefined ? others.at(-1) : undefined;
    this.#replaced = last?.id;
    const earlier = last?.id === undefined ? others : others.slice(0, -1);
    this.holder = earlier
      .at(-1)
      ?.messages.findLast(({ exchange }) => exchange)
      ?.exchange?.agents?.at(-1);
    this.earlier = withUniqueIds(earlier, callIdsOf(own?.messages ?? []));
  }

  /** Waits for the other runs of the conversation, and reads it. Rejects with the signal's reason. */
  static async open(options: ExchangeOptions): Promise<StoredExchange> {
    const { memory, agentName, conversationId, isShared, exchangeId, signal } = options;
    const unlock = isShared ? await lock(options) : () => {};
    try {
      if (memory.compact !== undefined) await compact(memory, options);
      const messages = await abortable(memory.getMessages(agentName, conversationId, exchangeId), signal);
      return new StoredExchange(options, messages, unlock);
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /**
   * Appends messages after all earlier ones are written. After a failed write nothing more is written, because a result
   * without its call would be an orphan.
   */
  write(messages: readonly Message[], state: ExchangeState): Promise<void> {
    const marked = messages.map((message) => ({ ...message, exchange: this.#mark(this.#nextIndex++, state) }));
    this.#written = this.#written.then(() => this.#store(marked));
    return this.#written;
  }

  /** Appends the messages of an exchange that are not stored yet. @param steps all messages of the exchange */
  async writeMissing(steps: readonly StoredStep[]): Promise<void> {
    const missing = steps
      .slice(this.#nextIndex)
      .map(({ message, state }) => ({ ...message, exchange: this.#mark(this.#nextIndex++, state) }));
    this.#written = this.#written.then(() => this.#store(missing));
    await this.#written;
  }

  #mark(index: number, state: ExchangeState): ExchangeMark {
    const mark = { id: this.#options.exchangeId, index, ...state };
    return index === 0 && this.#replaced !== undefined ? { ...mark, replaces: this.#replaced } : mark;
  }

  /** Settles with the last write. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Lets other runs of the conversation start after all messages are written. */
  async release(): Promise<void> {
    // A failed write was reported to its caller.
    await this.#written.catch(() => {});
    try {
      await this.#unlock();
    } finally {
      this.#resolveReleased();
    }
  }

  async #store(messages: readonly Message[]): Promise<void> {
    const { memory, agentName, conversationId } = this.#options;
    if (messages.length > 1 && memory.addMessages !== undefined) {
      await memory.addMessages(agentName, conversationId, messages);
    } else {
      for (const message of messages) await memory.addMessage(agentName, conversationId, message);
    }
  }
}

/** Lets the memory shorten the conversation. Without a summary the run has the newest exchanges only. */
async function compact(
  memory: AgentMemory,
  { agentName, conversationId, exchangeId, ctx, signal }: ExchangeOptions,
): Promise<void> {
  try {
    await abortable(memory.compact?.(agentName, conversationId, ctx, exchangeId) ?? Promise.resolve(), signal);
  } catch (err) {
    signal?.throwIfAborted();
    ctx.logger.warn({ err }, `agent ${quote(agentName)} could not shorten its conversation`);
  }
}

async function lock(options: ExchangeOptions): Promise<() => Promise<void> | void> {
  const { memory, agentName, conversationId, owner, signal } = options;
  if (memory.lock !== undefined) {
    const locked = memory.lock(agentName, conversationId, signal, owner);
    try {
      return await abortable(locked, signal);
    } catch (error) {
      // A lock that ignores the signal may still be granted.
      void locked.then(
        (unlock) => unlock(),
        () => {},
      );
      throw error;
    }
  }
  return ConversationQueue.of(memory).enter(JSON.stringify([agentName, conversationId]), signal);
}

function toResumed({ messages }: Exchange): ResumedExchange | undefined {
  // A memory adds results without an `exchange` to calls that have none.
  const stored = messages.filter(({ role, exchange }) => role !== 'tool' || exchange !== undefined);
  const mark = stored.reduce<ExchangeMark | undefined>((last, { exchange }) => {
    return exchange !== undefined && (last === undefined || exchange.index > last.index) ? exchange : last;
  }, undefined);
  if (mark === undefined || stored[0]?.role !== 'user') return undefined;
  const lastAnswer = stored.findLastIndex(({ role }) => role === 'assistant');
  const results = lastAnswer === -1 ? [] : stored.slice(lastAnswer + 1);
  const recorded = new Map(results.flatMap((result) => (result.toolCallId ? [[result.toolCallId, result]] : [])));
  const openCalls = (stored[lastAnswer]?.toolCalls ?? []).filter(({ id }) => !recorded.has(id));
  const isOpen = openCalls.length > 0;
  const agents = isOpen ? stored[lastAnswer]?.exchange?.agents : mark.agents;
  return {
    messages: repairPairs(isOpen ? stored.slice(0, lastAnswer) : stored)
      .concat(isOpen ? stored.slice(lastAnswer, lastAnswer + 1) : [])
      .flatMap(withRefusal),
    lastText: stored.findLast(isOutput)?.content ?? '',
    mark,
    agents,
    handoff: mark.agents?.length === agents?.length ? undefined : mark.agents?.at(-1),
    openCalls,
    refusal: stored[lastAnswer]?.exchange?.refusal,
    recorded: isOpen ? recorded : new Map(),
  };
}

/** Returns the messages of well-paired exchanges. Replaces ids of calls that an earlier one has: vendors reject them. */
function withUniqueIds(exchanges: readonly Exchange[], taken: Set<string>): Message[] {
  return exchanges.flatMap(({ messages }) => {
    const replaced = new Map<string, string>();
    for (const id of callIdsOf(messages)) {
      if (taken.has(id)) replaced.set(id, newCallId());
      taken.add(replaced.get(id) ?? id);
    }
    const own = repairPairs(messages).map(withoutMark);
    if (replaced.size === 0) return own;
    const idOf = (id: string): string => replaced.get(id) ?? id;
    return own.map(({ toolCalls, toolCallId, ...message }) => ({
      ...message,
      ...(toolCalls && { toolCalls: toolCalls.map((call) => ({ ...call, id: idOf(call.id) })) }),
      ...(toolCallId !== undefined && { toolCallId: idOf(toolCallId) }),
    }));
  });
}

function callIdsOf(messages: readonly Message[]): Set<string> {
  return new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
}

function withoutMark({ exchange: _exchange, ...message }: Message): Message {
  return message;
}

/** Returns the message as the model receives it, with the note about a text that was refused. */
function withRefusal(message: Message): Message[] {
  const refusal = message.exchange?.refusal;
  const own = withoutMark(message);
  // The results of calls say so themselves.
  if (refusal === undefined || message.toolCalls !== undefined) return [own];
  return [own, { role: 'user', content: refusalNote(refusal) }];
}

function isOutput({ role, content, exchange }: Message): boolean {
  return role === 'assistant' && content !== '' && exchange?.refusal === undefined;
}

/** Returns an id of less than 40 characters, the limit of OpenAI: a UUID with hyphens and prefix has 41. */
export function newCallId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '')}`;
}

/**
 * Opens the conversation of an agent in a durable run. Agents of one run that share a conversation wait for each other
 * here: the run is held while one of them waits for other runs, so that they must not wait for each other there.
 */
export async function openInRun(run: DurableRun, options: ExchangeOptions): Promise<StoredExchange> {
  const { agentName, conversationId, isShared, signal } = options;
  const key = JSON.stringify([agentName, conversationId]);
  const leave = isShared ? await ConversationQueue.of(run).enter(key, signal) : undefined;
  try {
    const store = await run.hold(() => StoredExchange.open(options));
    if (leave !== undefined) void store.released.then(leave);
    return store;
  } catch (error) {
    leave?.();
    throw error;
  }
}
