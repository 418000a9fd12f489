import { maxDurationMs } from '../../max-duration.js';
import { OptionChecker } from '../../options.js';
import type { KeyValueStore } from '../../transports/key-value-store.js';
import type { TransportManager } from '../../transports/transport.js';
import { MemoryEntryError } from '../errors.js';
import type { Message, ToolCall } from '../model/message.js';
import type { AgentMemory } from './agent-memory.js';
import { repairPairs } from './repair-pairs.js';
import { dropHeadless, trimExchanges } from './trim-exchanges.js';

/** Options of a {@link ConversationMemory}. */
export interface ConversationMemoryOptions {
  /** Transport whose key-value store contains the conversations: `hub.transport`. */
  transport: TransportManager;
  /** Maximum number of messages that `getMessages` returns. @default 100 */
  maxMessages?: number;
  /** Seconds after its last message until a conversation is deleted. @default 86_400 (a day) */
  ttlSeconds?: number;
}

// Leaves room for the start of an exchange whose end is among the newest messages.
const storedPerMessage = 2;

/**
 * Memory in the hub's transport, so that every process of the hub can continue a conversation. A conversation is
 * identified by an agent's name and a run's id: runs with the same `requestId` share one.
 *
 * A message, or all results of a turn, is one atomic append, so concurrent runs lose no message. The store contains at
 * most twice `maxMessages` messages per conversation.
 *
 * @example
 * const memory = new ConversationMemory({ transport: hub.transport, maxMessages: 40 });
 * const agent = createAgent({ name: 'support', systemPrompt, provider, model, memory });
 * await agent.run('My name is Ada.', { requestId: 'chat-7' });
 * await agent.run('What is my name?', { requestId: 'chat-7' });
 */
export class ConversationMemory implements AgentMemory {
  readonly #kv: KeyValueStore;
  readonly #maxMessages: number;
  readonly #keepLast: number;
  readonly #ttlMs: number;

  /** @throws {InvalidOptionError} */
  constructor(options: ConversationMemoryOptions) {
    const check = new OptionChecker(options, ['transport', 'maxMessages', 'ttlSeconds'], 'ConversationMemory');
    const { transport, maxMessages = 100, ttlSeconds = 86_400 } = options;
    check.that(typeof transport?.kv === 'object', 'transport', 'a hub.transport', transport);
    check.count('maxMessages', maxMessages);
    const isDuration = Number.isFinite(ttlSeconds) && ttlSeconds > 0 && ttlSeconds <= maxDurationMs / 1000;
    check.that(isDuration, 'ttlSeconds', `seconds above 0, at most ${maxDurationMs / 1000}`, ttlSeconds);
    this.#kv = transport.kv;
    this.#maxMessages = maxMessages;
    this.#keepLast = maxMessages * storedPerMessage;
    this.#ttlMs = ttlSeconds * 1000;
  }

  /** Appends a message and restarts `ttlSeconds`. @throws {TransportUnavailableError | BackpressureError} */
  async addMessage(agentId: string, runId: string, message: Message): Promise<void> {
    await this.addMessages(agentId, runId, [message]);
  }

  /** Appends several messages, all or none, and restarts `ttlSeconds`. @throws {TransportUnavailableError | BackpressureError} */
  async addMessages(agentId: string, runId: string, messages: readonly Message[]): Promise<void> {
    const entries = messages.map((message) => JSON.stringify(message));
    await this.#kv.append(keyOf(agentId, runId), entries, { keepLast: this.#keepLast, ttlMs: this.#ttlMs });
  }

  /**
   * Returns the newest complete exchanges, at most `maxMessages` messages, each call with its result.
   *
   * @throws {MemoryEntryError} if the conversation's key contains an entry that is not a message
   * @throws {TransportUnavailableError}
   */
  async getMessages(agentId: string, runId: string): Promise<Message[]> {
    const entries = await this.#kv.range(keyOf(agentId, runId), 0, -1);
    const messages = repairPairs(entries.map((entry) => parseMessage(entry, agentId, runId)));
    const mayBeCut = entries.length === this.#keepLast;
    return trimExchanges(mayBeCut ? dropHeadless(messages) : messages, this.#maxMessages);
  }

  /** Deletes the conversation of an agent's name and a `requestId`. @throws {TransportUnavailableError} */
  async clear(agentId: string, runId: string): Promise<void> {
    await this.#kv.delete(keyOf(agentId, runId));
  }
}

// JSON separates the two, whatever characters they contain.
function keyOf(agentId: string, runId: string): string {
  return `agent-memory:${JSON.stringify([agentId, runId])}`;
}

function parseMessage(entry: string, agentId: string, runId: string): Message {
  let message: unknown;
  try {
    message = JSON.parse(entry);
  } catch (cause) {
    throw new MemoryEntryError(agentId, runId, cause);
  }
  if (!isMessage(message)) throw new MemoryEntryError(agentId, runId);
  return message;
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool'];

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const fields: { [Key in keyof Message]?: unknown } = value;
  const { role, content, toolCallId, toolCalls, idempotencyKey, providerMetadata } = fields;
  return (
    roles.includes(role) &&
    typeof content === 'string' &&
    (toolCallId === undefined || typeof toolCallId === 'string') &&
    (idempotencyKey === undefined || typeof idempotencyKey === 'string') &&
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall))) &&
    (providerMetadata === undefined || (typeof providerMetadata === 'object' && providerMetadata !== null))
  );
}

function isToolCall(value: unknown): value is ToolCall {
  if (typeof value !== 'object' || value === null) return false;
  const { id, name, arguments: text }: { [Key in keyof ToolCall]?: unknown } = value;
  return typeof id === 'string' && typeof name === 'string' && typeof text === 'string';
}
