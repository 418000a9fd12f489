import type { Message } from '../message.js';

/** Keeps the messages of conversations, each under an agent's name and a run's id. */
export interface AgentMemory {
  addMessage(agentId: string, runId: string, message: Message): Promise<void>;
  /** The conversation, oldest first, with every call and its result together. */
  getMessages(agentId: string, runId: string): Promise<Message[]>;
  clear(agentId: string, runId: string): Promise<void>;
}
