import type { Message } from '../model/message.js';
import type { AgentMemory } from './agent-memory.js';

/**
 * Writes the messages of one run to memory in order. After a failed write nothing more is written, because a result
 * without its call would be an orphan.
 */
export class MemoryWriter {
  readonly #memory: AgentMemory;
  readonly #agentName: string;
  readonly #runId: string;
  #written: Promise<void> = Promise.resolve();

  constructor(memory: AgentMemory, agentName: string, runId: string) {
    this.#memory = memory;
    this.#agentName = agentName;
    this.#runId = runId;
  }

  /** Resolves after these and all earlier messages are written, and rejects after a failed write. */
  write(messages: readonly Message[]): Promise<void> {
    this.#written = this.#written.then(() => this.#store(messages));
    return this.#written;
  }

  async #store(messages: readonly Message[]): Promise<void> {
    const [agentName, runId] = [this.#agentName, this.#runId];
    if (messages.length > 1 && this.#memory.addMessages !== undefined) {
      await this.#memory.addMessages(agentName, runId, messages);
    } else {
      for (const message of messages) await this.#memory.addMessage(agentName, runId, message);
    }
  }
}
