import type { Message } from '../model/message.js';

/** Store of conversations. A conversation is identified by an agent's name and a run's id. */
export interface AgentMemory {
  /** Appends a message with all its fields: `providerMetadata` and `idempotencyKey` are required later. */
  addMessage(agentId: string, runId: string, message: Message): Promise<void>;
  /** Appends the results of one turn, all or none. Without this method they are appended one by one. */
  addMessages?(agentId: string, runId: string, messages: readonly Message[]): Promise<void>;
  /** Returns the conversation, oldest message first, each call followed by its result. */
  getMessages(agentId: string, runId: string): Promise<Message[]>;
  /** Deletes the conversation. */
  clear(agentId: string, runId: string): Promise<void>;
}
