import type { Message } from '../model/message.js';

/** Keeps the messages of conversations, each under an agent's name and a run's id. */
export interface AgentMemory {
  /** Adds a message to the end. Kept whole: its `providerMetadata` and `idempotencyKey` are needed again. */
  addMessage(agentId: string, runId: string, message: Message): Promise<void>;
  /** Adds what belongs together, all or nothing: the results of one turn. Without it they are added one by one. */
  addMessages?(agentId: string, runId: string, messages: readonly Message[]): Promise<void>;
  /** The conversation, oldest first, with every call and its result together. */
  getMessages(agentId: string, runId: string): Promise<Message[]>;
  /** Forgets the conversation. */
  clear(agentId: string, runId: string): Promise<void>;
}
