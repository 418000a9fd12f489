import type { AgentMemory, Message } from 'hubline/agents';

/** Memory that stores conversations in the process. */
export class MapMemory implements AgentMemory {
  readonly #conversations = new Map<string, Message[]>();

  async addMessage(agentId: string, runId: string, message: Message): Promise<void> {
    const key = JSON.stringify([agentId, runId]);
    this.#conversations.set(key, [...(this.#conversations.get(key) ?? []), message]);
  }

  async getMessages(agentId: string, runId: string): Promise<Message[]> {
    return [...(this.#conversations.get(JSON.stringify([agentId, runId])) ?? [])];
  }

  async clear(agentId: string, runId: string): Promise<void> {
    this.#conversations.delete(JSON.stringify([agentId, runId]));
  }
}
