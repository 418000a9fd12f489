import type { AgentContext } from '../agent/agent-context.js';
import type { Message } from '../model/message.js';

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
   */
  lock?(agentId: string, runId: string, signal?: AbortSignal): Promise<() => Promise<void>>;
}
