import type { Message } from '../message.js';

/** Keeps the messages of conversations, each under an agent's name and a run's id. */
export interface AgentMemory {
  /** Adds a message to the end. Kept whole: some vendors want its `providerMetadata` back. */
  addMessage(agentId: string, runId: string, message: Message): Promise<void>;
  /** The conversation, oldest first, with every call and its result together. */
  getMessages(agentId: string, runId: string): Promise<Message[]>;
  /** Forgets the conversation. */
  clear(agentId: string, runId: string): Promise<void>;
}
