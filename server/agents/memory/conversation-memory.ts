import { maxDurationMs } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { TransportManager } from '../../transports/transport.js';
import type { AgentContext } from '../agent/agent-context.js';
import { MemoryEntryError } from '../errors.js';
import { parseJson } from '../model/foreign-values.js';
import { type ExchangeMark, estimateMessageTokens, type Message, type ToolCall } from '../model/message.js';
import { isPartList } from '../model/part.js';
import { isCount, isUsage } from '../model/token-usage.js';
import { acquireLease, ConversationQueue } from './conversation-lock.js';
import {
  type Compact,
  type ConversationSummary,
  exchangeKey,
  exchangesToSummarize,
  limitsBeside,
  readSummary,
  toSummaryMessage,
  withoutCovered,
} from './conversation-summary.js';
import {
  type ConversationLimits,
  type Exchange,
  groupExchanges,
  isHeadless,
  newestThatFit,
  repairPairs,
  trimExchanges,
} from './exchanges.js';

/** Options of a {@link ConversationMemory}. */
export interface ConversationMemoryOptions {
  /** Transport whose key-value store contains the conversations: `hub.transport`. */
  transport: TransportManager;
  /** Maximum number of messages that `getMessages` returns. @default 100 */
  maxMessages?: number;
  /** Maximum number of tokens that `getMessages` returns, estimated as one per four bytes of text. @default no limit */
  maxTokens?: number;
  /**
   * Returns a summary of exchanges that no longer fit, which replaces them: `summarizeWith(agent)`. A run that continues
   * such a conversation calls it before its first model call. @default none: what does not fit is not returned
   */
  compact?: Compact;
  /** Seconds after its last message until a conversation is deleted. @default 86_400 (a day) */
  ttlSeconds?: number;
}

const optionNames = ['transport', 'maxMessages', 'maxTokens', 'compact', 'ttlSeconds'];

/** Conversation as stored. */
interface StoredConversation {
  /** Exchanges that the summary does not cover, without `own`. */
  readonly exchanges: readonly Exchange[];
  readonly covered: readonly Exchange[];
  /** Exchange that a run resumes. */
  readonly own: Exchange | undefined;
  /** Number of messages after the first one of `own`. */
  readonly distance: number;
  readonly summary: ConversationSummary | undefined;
}

// Leaves room for messages of another run between those of one exchange.
const storedPerMessage = 2;

/**
 * Memory in the hub's transport, so that every process of the hub can continue a conversation. A conversation is
 * identified by an agent's name and a conversation's id. Its runs run one after another, over all processes.
 *
 * A message, or all results of a turn, is one atomic append. The newest exchange is always stored whole, so that a
 * retry resumes it. The store contains at most twice `maxMessages` messages of older exchanges.
 *
 * @example
 * const memory = new ConversationMemory({ transport: hub.transport, maxMessages: 40 });
 * const agent = createAgent({ name: 'support', systemPrompt, provider, model, memory });
 * await agent.run('My name is Ada.', { conversationId: 'chat-7' });
 * await agent.run('What is my name?', { conversationId: 'chat-7' });
 */
export class ConversationMemory implements AgentMemory {
  readonly #transport: TransportManager;
  readonly #limits: ConversationLimits;
  readonly #ttlMs: number;
  readonly #compact: Compact | undefined;
  readonly #list: ConversationList;

  /** @throws {InvalidOptionError} */
  constructor(options: ConversationMemoryOptions) {
    const check = new OptionChecker(options, optionNames, 'ConversationMemory');
    const { transport, maxMessages = 100, maxTokens = Number.POSITIVE_INFINITY, ttlSeconds = 86_400 } = options;
    const { compact } = options;
    check.that(typeof transport?.kv === 'object', 'transport', 'a hub.transport', transport);
    check.count('maxMessages', maxMessages);
    if (maxTokens !== Number.POSITIVE_INFINITY) check.count('maxTokens', maxTokens);
    const isDuration = Number.isFinite(ttlSeconds) && ttlSeconds > 0 && ttlSeconds <= maxDurationMs / 1000;
    check.that(isDuration, 'ttlSeconds', `seconds above 0, at most ${maxDurationMs / 1000}`, ttlSeconds);
    check.function('compact', compact);
    this.#transport = transport;
    this.#compact = compact;
    this.#limits = { maxMessages, maxTokens };
    this.#ttlMs = ttlSeconds * 1000;
    this.#list = new ConversationList(transport, this.#ttlMs);
  }

  /** Appends a message and restarts `ttlSeconds`. @throws {TransportUnavailableError | BackpressureError} */
  async addMessage(agentId: string, runId: string, message: Message): Promise<void> {
    await this.addMessages(agentId, runId, [message]);
  }

  /** Appends several messages, all or none, and restarts `ttlSeconds`. @throws {TransportUnavailableError | BackpressureError} */
  async addMessages(agentId: string, runId: string, messages: readonly Message[]): Promise<void> {
    const entries = messages.map((message) => JSON.stringify(message));
    const newest = messages.at(-1)?.exchange?.index ?? 0;
    const keepLast = Math.max(this.#limits.maxMessages, newest + 1) * storedPerMessage;
    const length = await this.#transport.kv.append(keyOf(agentId, runId), entries, { keepLast, ttlMs: this.#ttlMs });
    const isNew = length === entries.length;
    if (!isNew) return;
    await this.#forgetSummary(agentId, runId);
    await this.#list.add(agentId, runId);
  }

  /**
   * Returns the newest exchanges within the limits, each call with its result.
   *
   * @param exchangeId exchange to return last and whole, so that a run resumes it
   * @throws {MemoryEntryError} if the conversation's key contains an entry that is not a message
   * @throws {TransportUnavailableError}
   */
  async getMessages(agentId: string, runId: string, exchangeId?: string): Promise<Message[]> {
    const { exchanges, own, distance, summary } = await this.#read(agentId, runId, exchangeId);
    const start = summary === undefined ? [] : [toSummaryMessage(summary.text)];
    const limits = limitsBeside(summary, this.#limits);
    if (own === undefined) return [...start, ...trimExchanges(exchanges, limits)];
    const kept = newestThatFit(
      exchanges.map(({ messages }) => messages),
      without(limits, own),
    );
    return [...start, ...kept.flat(), ...withDistance(own.messages, distance)];
  }

  /**
   * Replaces exchanges that no longer fit by a summary, if there is a `compact`. A run calls it; another caller must
   * hold the lock.
   *
   * @throws {MemoryEntryError | TransportUnavailableError} and all that `compact` of the options throws
   */
  async compact(agentId: string, runId: string, ctx: AgentContext, exchangeId?: string): Promise<void> {
    if (this.#compact === undefined) return;
    const { exchanges, covered, summary } = await this.#read(agentId, runId, exchangeId);
    const cut = exchangesToSummarize(exchanges, limitsBeside(summary, this.#limits));
    if (cut.length === 0 && summary === undefined) return;
    const messages = cut.flatMap((exchange) => exchange.messages);
    const text = summary && { summary: summary.text };
    const next = cut.length === 0 ? summary?.text : await this.#compact({ ...text, messages }, ctx);
    const covers = [...covered, ...cut].map(exchangeKey);
    // Longer than the conversation, whose next message restarts its time. Read only together with it.
    await this.#transport.kv.set(summaryKeyOf(agentId, runId), JSON.stringify({ text: next, covers }), {
      ttlMs: Math.min(2 * this.#ttlMs, maxDurationMs),
    });
  }

  /** Reads the exchanges that the summary does not cover, without the one that a run resumes. */
  async #read(agentId: string, runId: string, exchangeId: string | undefined): Promise<StoredConversation> {
    const { kv } = this.#transport;
    const [entries, stored] = await Promise.all([
      kv.range(keyOf(agentId, runId), 0, -1),
      this.#compact && readSummary(kv, summaryKeyOf(agentId, runId)),
    ]);
    const messages = entries.map((entry) => {
      const message = parseMessage(entry);
      if (message === undefined) throw new MemoryEntryError(agentId, runId);
      return message;
    });
    const mayBeCut = entries.length >= this.#limits.maxMessages * storedPerMessage;
    const all = groupExchanges(messages)
      .filter((exchange) => !isHeadless(exchange) || (exchange.id === undefined && !mayBeCut))
      .map(({ id, messages: own }): Exchange => ({ id, messages: repairPairs(own) }));
    const own = exchangeId === undefined ? undefined : all.find(({ id }) => id === exchangeId);
    const others = own === undefined ? all : all.filter((exchange) => exchange !== own);
    const distance = messages.length - 1 - messages.findIndex(({ exchange }) => exchange?.id === exchangeId);
    // A conversation that has expired took its summary with it, which its next message deletes.
    const summary = entries.length === 0 ? undefined : stored;
    const exchanges = withoutCovered(others, summary);
    return { exchanges, covered: others.slice(0, others.length - exchanges.length), own, distance, summary };
  }

  /** Deletes the conversation of an agent's name and a conversation's id. @throws {TransportUnavailableError} */
  async clear(agentId: string, runId: string): Promise<void> {
    await this.#transport.kv.delete(keyOf(agentId, runId));
    await this.#forgetSummary(agentId, runId);
  }

  async #forgetSummary(agentId: string, runId: string): Promise<void> {
    if (this.#compact !== undefined) await this.#transport.kv.delete(summaryKeyOf(agentId, runId));
  }

  /**
   * Returns the ids of an agent's conversations, at most the 10,000 that started last, oldest first.
   *
   * @throws {TransportUnavailableError}
   */
  async list(agentId: string): Promise<string[]> {
    return this.#list.read(agentId, (runId) => keyOf(agentId, runId));
  }

  /**
   * Waits until no other run of any process uses the conversation, and returns a function that releases it. The lease
   * of a crashed process expires after 30 seconds. Rejects with the signal's reason.
   *
   * @param owner run of which one attempt lives at a time: it takes the lease of an earlier attempt over
   * @throws {TransportUnavailableError}
   */
  async lock(
    agentId: string,
    runId: string,
    signal?: AbortSignal,
    owner: string = crypto.randomUUID(),
  ): Promise<() => Promise<void>> {
    const { kv, clock } = this.#transport;
    const key = `agent-lease:${JSON.stringify([agentId, runId])}`;
    // Runs of several memories over one store wait for each other too.
    const leave = await ConversationQueue.of(kv).enter(key, signal);
    try {
      const release = await acquireLease(kv, clock, key, owner, signal);
      return () => release().finally(leave);
    } catch (error) {
      leave();
      throw error;
    }
  }
}

function without(limits: ConversationLimits, { messages }: Exchange): ConversationLimits {
  const { maxMessages, maxTokens } = limits;
  return { maxMessages: maxMessages - messages.length, maxTokens: maxTokens - estimateMessageTokens(messages) };
}

/**
 * Sets the distance between the input and the end of the store, which other exchanges in between increase, so that the
 * next write keeps the input.
 */
function withDistance(messages: readonly Message[], distance: number): Message[] {
  const last = messages.findLastIndex(({ exchange }) => exchange !== undefined);
  return messages.map((message, index) =>
    index === last && message.exchange ? { ...message, exchange: { ...message.exchange, index: distance } } : message,
  );
}

// JSON separates the two, whatever characters they contain.
function keyOf(agentId: string, runId: string): string {
  return `agent-memory:${JSON.stringify([agentId, runId])}`;
}

function summaryKeyOf(agentId: string, runId: string): string {
  return `agent-summary:${JSON.stringify([agentId, runId])}`;
}

/** Store of conversations. A conversation is identified by an agent's name and a conversation's id. */
export interface AgentMemory {
  /** Appends a message with all its fields: `exchange` and `providerMetadata` are required later. */
  addMessage(agentId: string, runId: string, message: Message): Promise<void>;
  /** Appends the results of one turn, all or none. Without this method they are appended one by one. */
  addMessages?(agentId: string, runId: string, messages: readonly Message[]): Promise<void>;
  /**
   * Returns the conversation, oldest message first, each call followed by its result.
   *
   * @param exchangeId exchange that a run resumes: return it whole, whatever else is trimmed
   */
  getMessages(agentId: string, runId: string, exchangeId?: string): Promise<Message[]>;
  /**
   * Shortens the conversation, before a run that has locked it reads it. If it rejects, the error is logged and the run
   * continues.
   *
   * @param ctx context of the run: an agent that runs with it as `hubCtx` shares its budget and signal
   * @param exchangeId exchange that the run resumes: leave it out
   */
  compact?(agentId: string, runId: string, ctx: AgentContext, exchangeId?: string): Promise<void>;
  /** Deletes the conversation. */
  clear(agentId: string, runId: string): Promise<void>;
  /**
   * Waits until no other run uses the conversation, and returns a function that releases it. Without this method, runs
   * of one process wait for each other, and runs of different processes do not.
   *
   * @param owner run of which one attempt lives at a time: it need not wait for an earlier attempt
   */
  lock?(agentId: string, runId: string, signal?: AbortSignal, owner?: string): Promise<() => Promise<void>>;
}

const maxListed = 10_000;
const readAtOnce = 100;

/** Ids of the conversations of each agent, in the transport's key-value store. */
class ConversationList {
  readonly #transport: TransportManager;
  readonly #ttlMs: number;

  constructor(transport: TransportManager, ttlMs: number) {
    this.#transport = transport;
    this.#ttlMs = ttlMs;
  }

  /**
   * Lists a new conversation, unless it was listed before: one that is cleared and started again and again must not
   * displace the others. The list does not expire, because a process with a longer `ttlSeconds` may have written to it.
   */
  async add(agentId: string, runId: string): Promise<void> {
    const { kv } = this.#transport;
    const ttlMs = Math.min(2 * this.#ttlMs, maxDurationMs);
    if (await kv.set(listedKey(agentId, runId), '', { ifAbsent: true, ttlMs })) {
      await kv.append(listKey(agentId), [runId], { keepLast: maxListed });
    }
  }

  /** Returns the listed conversations that still exist. */
  async read(agentId: string, keyOf: (runId: string) => string): Promise<string[]> {
    const { kv } = this.#transport;
    const listed = [...new Set(await kv.range(listKey(agentId), 0, -1))];
    const existing: string[] = [];
    for (let from = 0; from < listed.length; from += readAtOnce) {
      const ids = listed.slice(from, from + readAtOnce);
      const firsts = await Promise.all(ids.map((id) => kv.range(keyOf(id), 0, 0)));
      existing.push(...ids.filter((_, index) => firsts[index]?.length));
    }
    return existing;
  }
}

function listKey(agentId: string): string {
  return `agent-memory-list:${JSON.stringify(agentId)}`;
}

function listedKey(agentId: string, runId: string): string {
  return `agent-memory-listed:${JSON.stringify([agentId, runId])}`;
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool'];
const statuses: readonly unknown[] = [undefined, 'completed', 'max_iterations', 'token_budget_exceeded'];

/** Parses a stored message. Returns `undefined` if the text is not a message. */
function parseMessage(text: string): Message | undefined {
  const value = parseJson(text);
  return isMessage(value) ? value : undefined;
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const fields: { [Key in keyof Message]?: unknown } = value;
  const { role, content, parts, toolCallId, toolCalls, exchange, providerMetadata, isSummary } = fields;
  return (
    roles.includes(role) &&
    typeof content === 'string' &&
    (parts === undefined || isPartList(parts)) &&
    (toolCallId === undefined || typeof toolCallId === 'string') &&
    (exchange === undefined || isExchangeMark(exchange)) &&
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall))) &&
    (isSummary === undefined || isSummary === true) &&
    (providerMetadata === undefined || (typeof providerMetadata === 'object' && providerMetadata !== null))
  );
}

function isToolCall(value: unknown): value is ToolCall {
  if (typeof value !== 'object' || value === null) return false;
  const { id, name, arguments: text }: { [Key in keyof ToolCall]?: unknown } = value;
  return typeof id === 'string' && typeof name === 'string' && typeof text === 'string';
}

function isExchangeMark(value: unknown): value is ExchangeMark {
  if (typeof value !== 'object' || value === null) return false;
  const fields: { [Key in keyof ExchangeMark]?: unknown } = value;
  const { id, index, turns, toolCalls, usage, status, replaces, refusal, agents } = fields;
  return (
    typeof id === 'string' &&
    [index, turns, toolCalls].every(isCount) &&
    isUsage(usage) &&
    statuses.includes(status) &&
    (replaces === undefined || typeof replaces === 'string') &&
    (refusal === undefined || typeof refusal === 'string') &&
    (agents === undefined || (Array.isArray(agents) && agents.every((agent) => typeof agent === 'string')))
  );
}
