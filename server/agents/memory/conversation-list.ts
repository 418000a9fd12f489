import type { TransportManager } from '../../transports/transport.js';

const maxListed = 10_000;
const readAtOnce = 100;

/** Ids of the conversations of each agent, in the transport's key-value store. */
export class ConversationList {
  readonly #transport: TransportManager;
  readonly #ttlMs: number;
  /** Monotonic time of this process's last entry per agent. */
  readonly #addedAt = new Map<string, number>();

  constructor(transport: TransportManager, ttlMs: number) {
    this.#transport = transport;
    this.#ttlMs = ttlMs;
  }

  /** Lists a new conversation. Repeats the entry of an active one now and then, so that the list does not expire. */
  async add(agentId: string, runId: string, isNew: boolean): Promise<void> {
    const now = this.#transport.clock.monotonic();
    const addedAt = this.#addedAt.get(agentId);
    if (!isNew && addedAt !== undefined && now - addedAt < this.#ttlMs / 2) return;
    this.#addedAt.set(agentId, now);
    await this.#transport.kv.append(listKey(agentId), [runId], { keepLast: maxListed, ttlMs: 2 * this.#ttlMs });
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
